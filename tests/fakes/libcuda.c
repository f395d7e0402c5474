/* A stand-in for libcuda.so.1 that answers from a profile (profile.h); signatures follow NVIDIA's cuda.h.
 * It has what a program asks before it creates a context: TensorFlow then prints its own messages and goes on with the CPU. */
#include "profile.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct { char bytes[16]; } CUuuid;

enum {
    SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, STUB = 34, NO_DEVICE = 100, INVALID_DEVICE = 101,
    NOT_FOUND = 500, NOT_SUPPORTED = 801
};
enum { ATTRIBUTE_CC_MAJOR = 75, ATTRIBUTE_CC_MINOR = 76 };
enum { MAX_GPUS = 64 };

_Static_assert(sizeof(CUuuid) == 16, "layout of CUuuid");

static int initialized, visible_count, visible[MAX_GPUS];

#define GUARD(gpu) do { int code = guard(gpu, __func__); if (code) return code; } while (0)
#define GUARD_DEVICE(device) \
    if (!initialized) return NOT_INITIALIZED; \
    if (device < 0 || device >= visible_count) return INVALID_DEVICE; \
    GUARD(visible[device])

/* "cuda_order=1,0": the profile's GPUs, fastest first; CUDA_DEVICE_ORDER=PCI_BUS_ID keeps the profile's order. */
static int ordered(int position) {
    const char *order = lookup("cuda_order"), *wanted = getenv("CUDA_DEVICE_ORDER");
    if (!order || (wanted && strcmp(wanted, "PCI_BUS_ID") == 0)) return position;
    for (; position && order; position--) order = strchr(order, ',') ? strchr(order, ',') + 1 : NULL;
    return order ? atoi(order) : 0;
}

/* The GPU that an entry of CUDA_VISIBLE_DEVICES names, by number or by the start of its UUID; -1: none. */
static int named(const char *entry, size_t length) {
    if (length >= 4 && strncmp(entry, "GPU-", 4) == 0) {
        for (int gpu = 0; gpu < gpu_count(); gpu++) {
            const char *uuid = lookup_gpu(gpu, "uuid");
            if (uuid && strncmp(uuid, entry, length) == 0) return gpu;
        }
        return -1;
    }
    char *end;
    long number = strtol(entry, &end, 10);
    return end == entry + length && length && number >= 0 && number < gpu_count() ? ordered((int)number) : -1;
}

static void select_visible(void) {
    const char *entry = getenv("CUDA_VISIBLE_DEVICES");
    visible_count = 0;
    if (!entry) {
        for (int gpu = 0; gpu < gpu_count() && gpu < MAX_GPUS; gpu++) visible[visible_count++] = ordered(gpu);
        return;
    }
    while (visible_count < MAX_GPUS) {
        size_t length = strcspn(entry, ",");
        int gpu = named(entry, length);
        if (gpu < 0) return;  /* as the driver does: what follows an entry that names no GPU is not read */
        visible[visible_count++] = gpu;
        if (!entry[length]) return;
        entry += length + 1;
    }
}

CUresult cuInit(unsigned flags) {
    (void)flags;
    GUARD(-1);
    select_visible();
    if (!visible_count) return NO_DEVICE;
    initialized = 1;
    return SUCCESS;
}

CUresult cuDriverGetVersion(int *out) {
    GUARD(-1);
    const char *value = lookup("libcuda_cuda_version");
    if (!value) value = lookup("cuda_version");
    if (nonsense()) value = nonsense();
    *out = value ? (int)strtoll(value, NULL, 0) : 0;
    return SUCCESS;
}

CUresult cuDeviceGetCount(int *out) {
    if (!initialized) return NOT_INITIALIZED;
    GUARD(-1);
    *out = nonsense() ? (int)strtoll(nonsense(), NULL, 0) : visible_count;
    return SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal) {
    GUARD_DEVICE(ordinal);
    *out = ordinal;
    return SUCCESS;
}

CUresult cuDeviceGetName(char *out, int size, CUdevice device) {
    GUARD_DEVICE(device);
    const char *value = lookup_gpu(visible[device], "name");
    if (size <= 0) return INVALID_VALUE;
    if (lookup_action("garbage", __func__)) memset(out, 0xff, (size_t)size);
    else snprintf(out, (size_t)size, "%s", value ? value : "");
    return SUCCESS;
}

static CUresult uuid_of(CUuuid *out, CUdevice device) {
    const char *text = lookup_gpu(visible[device], "uuid");
    if (!text) return NOT_SUPPORTED;
    memset(out, nonsense() ? 0xff : 0, sizeof *out);
    if (nonsense()) return SUCCESS;
    int filled = 0;
    for (text = strncmp(text, "GPU-", 4) ? text : text + 4; *text && filled < 16; text++) {
        unsigned byte;
        if (*text != '-' && sscanf(text, "%2x", &byte) == 1) {
            out->bytes[filled++] = (char)byte;
            text++;
        }
    }
    return SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device) {
    GUARD_DEVICE(device);
    return uuid_of(out, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device) {
    GUARD_DEVICE(device);
    return uuid_of(out, device);
}

CUresult cuDeviceGetPCIBusId(char *out, int size, CUdevice device) {
    GUARD_DEVICE(device);
    const char *value = lookup_gpu(visible[device], "pci");
    if (!value) return NOT_SUPPORTED;
    if (nonsense()) memset(out, 0xff, (size_t)size);
    else snprintf(out, (size_t)size, "%s", value);
    return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice device) {
    GUARD_DEVICE(device);
    int major = 0, minor = 0;
    const char *value = lookup_gpu(visible[device], "cc");
    if (value) sscanf(value, "%d.%d", &major, &minor);
    *out = attribute == ATTRIBUTE_CC_MAJOR ? major : attribute == ATTRIBUTE_CC_MINOR ? minor : 0;
    if (nonsense()) *out = (int)strtoll(nonsense(), NULL, 0);
    return SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice device) {
    GUARD_DEVICE(device);
    const char *value = lookup_gpu(visible[device], "memory_total");
    if (nonsense()) value = nonsense();
    *out = value ? (size_t)strtoull(value, NULL, 0) : 0;
    return SUCCESS;
}

/* Names and texts as libcuda itself has them. */
static const struct { CUresult code; const char *name, *text; } ERRORS[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {STUB, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult cuGetErrorName(CUresult code, const char **out) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) return *out = ERRORS[i].name, SUCCESS;
    return *out = NULL, INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **out) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) return *out = ERRORS[i].text, SUCCESS;
    return *out = NULL, INVALID_VALUE;
}
