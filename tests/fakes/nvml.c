/* A stand-in for libnvidia-ml.so.1 that answers from a profile (profile.h).
 * Layouts and names follow NVIDIA's nvml.h; a value that the profile does not have is NVML_ERROR_NOT_SUPPORTED. */
#include "profile.h"

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t;
typedef unsigned long long u64;

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };

typedef struct { char busIdLegacy[16]; unsigned domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } nvmlPciInfo_t;
typedef struct { u64 total, free, used; } nvmlMemory_t;
typedef struct { unsigned version; u64 total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct { unsigned gpu, memory; } nvmlUtilization_t;
typedef struct { unsigned pid; u64 usedGpuMemory; } nvmlProcessInfo_v1_t;
typedef struct { unsigned pid; u64 usedGpuMemory; unsigned gpuInstanceId, computeInstanceId; } nvmlProcessInfo_t;

typedef struct { unsigned pid; u64 timeStamp; unsigned smUtil, memUtil, encUtil, decUtil; } nvmlProcessUtilizationSample_t;

_Static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "layout of nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "layout of nvmlPciInfo_t");
_Static_assert(sizeof(nvmlMemory_t) == 24, "layout of nvmlMemory_t");
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "layout of nvmlMemory_v2_t: its version number holds this size");
_Static_assert(sizeof(nvmlProcessInfo_v1_t) == 16, "layout of nvmlProcessInfo_v1_t");
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "layout of nvmlProcessInfo_t, versions 2 and 3");

/* A handle is the GPU's number plus one, so that none is NULL. */
static int gpu_of(nvmlDevice_t device) { return (int)(long)device - 1; }

#define GUARD(gpu) do { int code = guard(gpu, __func__); if (code) return code; } while (0)

static nvmlReturn_t text(const char *symbol, const char *value, char *out, unsigned size) {
    if (!value) return NOT_SUPPORTED;
    if (lookup_action("garbage", symbol)) {
        memset(out, 0xff, size);  /* no end, no UTF-8 */
        return SUCCESS;
    }
    if (strlen(value) >= size) return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return SUCCESS;
}

static nvmlReturn_t number(const char *value, unsigned *out) {
    if (nonsense()) value = nonsense();
    if (!value) return NOT_SUPPORTED;
    *out = (unsigned)strtoull(value, NULL, 0);
    return SUCCESS;
}

static u64 bytes(int gpu, const char *key) {
    const char *value = nonsense() ? nonsense() : lookup_gpu(gpu, key);
    return value ? strtoull(value, NULL, 0) : 0;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags) { (void)flags; GUARD(-1); return SUCCESS; }
nvmlReturn_t nvmlInit_v2(void) { GUARD(-1); return SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { GUARD(-1); return SUCCESS; }

const char *nvmlErrorString(nvmlReturn_t code) { (void)code; return "an error of the stand-in"; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned size) {
    GUARD(-1);
    return text(__func__, lookup("driver_version"), out, size);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned size) {
    GUARD(-1);
    const char *value = lookup("nvml_version");
    return text(__func__, value ? value : lookup("driver_version"), out, size);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *out) { GUARD(-1); return number(lookup("cuda_version"), (unsigned *)out); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out) { GUARD(-1); return number(lookup("cuda_version"), (unsigned *)out); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *out) {
    GUARD(-1);
    *out = nonsense() ? (unsigned)strtoull(nonsense(), NULL, 0) : (unsigned)gpu_count();
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out) {
    GUARD((int)index);
    if ((int)index >= gpu_count()) return INVALID_ARGUMENT;
    *out = (nvmlDevice_t)(long)(index + 1);
    return SUCCESS;
}

#define TEXT_CALL(symbol, key) \
    nvmlReturn_t symbol(nvmlDevice_t device, char *out, unsigned size) { \
        GUARD(gpu_of(device)); \
        return text(__func__, lookup_gpu(gpu_of(device), key), out, size); \
    }
#define NUMBER_CALL(symbol, key) \
    nvmlReturn_t symbol(nvmlDevice_t device, unsigned *out) { \
        GUARD(gpu_of(device)); \
        return number(lookup_gpu(gpu_of(device), key), out); \
    }
#define NUMBER_OF_KIND_CALL(symbol, prefix) \
    nvmlReturn_t symbol(nvmlDevice_t device, unsigned kind, unsigned *out) { \
        GUARD(gpu_of(device)); \
        char key[64]; \
        snprintf(key, sizeof key, "%s%u", prefix, kind); \
        return number(lookup_gpu(gpu_of(device), key), out); \
    }
#define CURRENT_AND_PENDING_CALL(symbol, key) \
    nvmlReturn_t symbol(nvmlDevice_t device, unsigned *current, unsigned *pending) { \
        GUARD(gpu_of(device)); \
        nvmlReturn_t code = number(lookup_gpu(gpu_of(device), key), current); \
        if (code == SUCCESS && number(lookup_gpu(gpu_of(device), key "_pending"), pending)) *pending = *current; \
        return code; \
    }

TEXT_CALL(nvmlDeviceGetName, "name")

static const char *mig_uuid(int gpu, int index) {
    const char *list = lookup_gpu(gpu, "mig_uuids");
    for (; list && index; index--) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    if (!list) return NULL;
    static char out[128];
    size_t size = strcspn(list, ",");
    if (size >= sizeof out) return NULL;
    memcpy(out, list, size);
    out[size] = 0;
    return out;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned size) {
    int handle = gpu_of(device);
    if (handle >= 1000) return text(__func__, mig_uuid(handle / 1000 - 1, handle % 1000), out, size);
    GUARD(handle);
    return text(__func__, lookup_gpu(handle, "uuid"), out, size);
}

NUMBER_CALL(nvmlDeviceGetBrand, "brand")
NUMBER_CALL(nvmlDeviceGetPowerUsage, "power")
NUMBER_CALL(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
NUMBER_CALL(nvmlDeviceGetPerformanceState, "pstate")
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen")
NUMBER_CALL(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_gen_max")
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
NUMBER_CALL(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max")
NUMBER_CALL(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER_CALL(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER_CALL(nvmlDeviceGetDisplayActive, "display_active")
NUMBER_CALL(nvmlDeviceGetDisplayMode, "display_mode")
NUMBER_OF_KIND_CALL(nvmlDeviceGetTemperature, "temperature.")
NUMBER_OF_KIND_CALL(nvmlDeviceGetClockInfo, "clock.")
NUMBER_OF_KIND_CALL(nvmlDeviceGetMaxClockInfo, "clock_max.")
CURRENT_AND_PENDING_CALL(nvmlDeviceGetEccMode, "ecc")
CURRENT_AND_PENDING_CALL(nvmlDeviceGetMigMode, "mig")
CURRENT_AND_PENDING_CALL(nvmlDeviceGetDriverModel, "driver_model")
CURRENT_AND_PENDING_CALL(nvmlDeviceGetDriverModel_v2, "driver_model")

static nvmlReturn_t reasons(int gpu, u64 *out) {
    if (!lookup_gpu(gpu, "throttle")) return NOT_SUPPORTED;
    *out = bytes(gpu, "throttle");
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, u64 *out) { GUARD(gpu_of(d)); return reasons(gpu_of(d), out); }
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, u64 *out) { GUARD(gpu_of(d)); return reasons(gpu_of(d), out); }

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out) {
    GUARD(gpu_of(device));
    const char *address = lookup_gpu(gpu_of(device), "pci");
    if (nonsense()) {
        memset(out, 0xff, sizeof *out);
        return SUCCESS;
    }
    if (!address || sscanf(address, "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) return NOT_SUPPORTED;
    const char *id = lookup_gpu(gpu_of(device), "pci_id"), *subsystem = lookup_gpu(gpu_of(device), "pci_subsystem");
    out->pciDeviceId = id ? (unsigned)strtoul(id, NULL, 16) : 0;
    out->pciSubSystemId = subsystem ? (unsigned)strtoul(subsystem, NULL, 16) : 0;
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    GUARD(gpu_of(device));
    const char *value = lookup_gpu(gpu_of(device), "cc");
    if (nonsense()) {
        *major = *minor = (int)strtoull(nonsense(), NULL, 0);
        return SUCCESS;
    }
    return value && sscanf(value, "%d.%d", major, minor) == 2 ? SUCCESS : NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out) {
    GUARD(gpu_of(device));
    int gpu = gpu_of(device);
    if (!lookup_gpu(gpu, "memory_total")) return NOT_SUPPORTED;
    out->total = bytes(gpu, "memory_total");
    out->used = bytes(gpu, "memory_used") + bytes(gpu, "memory_reserved");  /* version 1 counts both as used */
    out->free = out->total - out->used;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out) {
    GUARD(gpu_of(device));
    int gpu = gpu_of(device);
    if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
    if (!lookup_gpu(gpu, "memory_total")) return NOT_SUPPORTED;
    out->total = bytes(gpu, "memory_total");
    out->used = bytes(gpu, "memory_used");
    out->reserved = bytes(gpu, "memory_reserved");
    out->free = out->total - out->used - out->reserved;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out) {
    GUARD(gpu_of(device));
    nvmlReturn_t code = number(lookup_gpu(gpu_of(device), "utilization"), &out->gpu);
    if (code == SUCCESS && number(lookup_gpu(gpu_of(device), "utilization_memory"), &out->memory)) out->memory = 0;
    return code;
}

/* "gpu.0.compute=4242:1073741824,77:?,78:1024@3" lists processes; "?" is memory that NVML does not tell, "@3" the
 * GPU instance of MIG. */
static nvmlReturn_t processes(int gpu, const char *key, unsigned *count, char *out, size_t stride) {
    const char *list = lookup_gpu(gpu, key);
    if (nonsense()) {
        *count = (unsigned)strtoull(nonsense(), NULL, 0);
        return out ? SUCCESS : INSUFFICIENT_SIZE;
    }
    if (!list) return NOT_SUPPORTED;
    unsigned room = *count, found = 0;
    for (const char *item = list; *item; item = strchr(item, ',') ? strchr(item, ',') + 1 : "") {
        if (out && found < room) {
            nvmlProcessInfo_t process = {.gpuInstanceId = 0xffffffffu, .computeInstanceId = 0xffffffffu};
            const char *memory = strchr(item, ':');
            process.pid = (unsigned)strtoul(item, NULL, 10);
            process.usedGpuMemory = memory && memory[1] != '?' ? strtoull(memory + 1, NULL, 10) : ~0ULL;
            const char *instance = memchr(item, '@', strcspn(item, ","));
            if (instance) process.gpuInstanceId = (unsigned)strtoul(instance + 1, NULL, 10);
            memcpy(out + found * stride, &process, stride);
        }
        found++;
    }
    *count = found;
    return found > room || (found && !out) ? INSUFFICIENT_SIZE : SUCCESS;
}

#define PROCESS_CALL(symbol, type, key) \
    nvmlReturn_t symbol(nvmlDevice_t device, unsigned *count, type *out) { \
        GUARD(gpu_of(device)); \
        return processes(gpu_of(device), key, count, (char *)out, sizeof(type)); \
    }

PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, "compute")
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_t, "compute")
PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, "compute")
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t, "graphics")
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_t, "graphics")
PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t, "graphics")
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t, "mps")
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_t, "mps")
PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t, "mps")

/* "gpu.0.samples=4242:80,4242:90" lists samples of how busy a process kept the GPU. */
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *out, unsigned *count, u64 since) {
    GUARD(gpu_of(device));
    const char *list = lookup_gpu(gpu_of(device), "samples");
    if (!list) return NOT_SUPPORTED;
    if (!*list) return NOT_FOUND;
    unsigned room = *count, found = 0;
    for (const char *item = list; *item; item = strchr(item, ',') ? strchr(item, ',') + 1 : "") {
        if (out && found < room) {
            const char *percent = strchr(item, ':');
            nvmlProcessUtilizationSample_t sample = {.pid = (unsigned)strtoul(item, NULL, 10), .timeStamp = since + 1000 * found};
            sample.smUtil = percent ? (unsigned)strtoul(percent + 1, NULL, 10) : 0;
            out[found] = sample;
        }
        found++;
    }
    *count = found;
    return !out || found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

/* Faults, instances, licence and links. */
NUMBER_CALL(nvmlDeviceGetRetiredPagesPendingStatus, "pages_pending")
NUMBER_CALL(nvmlDeviceGetVirtualizationMode, "virtualization")
NUMBER_CALL(nvmlDeviceGetNumaNodeId, "numa_node")

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned since, u64 *out) {
    (void)type, (void)since;
    GUARD(gpu_of(device));
    if (!lookup_gpu(gpu_of(device), "ecc_uncorrected")) return NOT_SUPPORTED;
    *out = bytes(gpu_of(device), "ecc_uncorrected");
    return SUCCESS;
}

/* "gpu.0.remapped_rows=0,1,1,0": by correctable and by uncorrectable errors, one waits, one failed. */
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *c, unsigned *u, unsigned *waits, unsigned *failed) {
    GUARD(gpu_of(device));
    const char *value = lookup_gpu(gpu_of(device), "remapped_rows");
    if (!value) return NOT_SUPPORTED;
    if (nonsense()) {
        *c = *u = *waits = *failed = (unsigned)strtoull(nonsense(), NULL, 0);
        return SUCCESS;
    }
    return sscanf(value, "%u,%u,%u,%u", c, u, waits, failed) == 4 ? SUCCESS : NOT_SUPPORTED;
}

typedef struct { u64 bar1Total, bar1Free, bar1Used; } nvmlBAR1Memory_t;

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *out) {
    GUARD(gpu_of(device));
    if (!lookup_gpu(gpu_of(device), "bar1_total")) return NOT_SUPPORTED;
    out->bar1Total = bytes(gpu_of(device), "bar1_total");
    out->bar1Used = bytes(gpu_of(device), "bar1_used");
    out->bar1Free = out->bar1Total - out->bar1Used;
    return SUCCESS;
}

/* "gpu.0.nvlinks=1,1,0": the state of each link. */
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *out) {
    GUARD(gpu_of(device));
    const char *list = lookup_gpu(gpu_of(device), "nvlinks");
    for (; list && link; link--) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    return number(list, out) == SUCCESS ? SUCCESS : list ? NOT_SUPPORTED : INVALID_ARGUMENT;
}

/* "gpu.0.nvlink_errors=0,0,3": a count for each link, the same for each kind of error. */
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, unsigned counter, u64 *out) {
    (void)counter;
    GUARD(gpu_of(device));
    const char *list = lookup_gpu(gpu_of(device), "nvlink_errors");
    for (; list && link; link--) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    if (nonsense()) list = nonsense();
    if (!list) return NOT_SUPPORTED;
    *out = strtoull(list, NULL, 0);
    return SUCCESS;
}

typedef struct { unsigned char clusterUuid[16]; nvmlReturn_t status; unsigned cliqueId; unsigned char state; } nvmlGpuFabricInfo_t;
_Static_assert(sizeof(nvmlGpuFabricInfo_t) == 28, "layout of nvmlGpuFabricInfo_t");

/* "gpu.0.fabric=1": state of the fabric; "gpu.0.fabric_status" what came of it. */
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *out) {
    GUARD(gpu_of(device));
    unsigned state = 0, status = 0;
    nvmlReturn_t code = number(lookup_gpu(gpu_of(device), "fabric"), &state);
    if (code == SUCCESS && number(lookup_gpu(gpu_of(device), "fabric_status"), &status)) status = 0;
    out->state = (unsigned char)state;
    out->status = (nvmlReturn_t)status;
    return code;
}

/* Three buffers of 128 characters at most hold texts; the last field of a feature is when its licence ends. */
typedef struct { unsigned year; unsigned short month, day, hour, min, sec; unsigned char status; } nvmlGridLicenseExpiry_t;
typedef struct {
    unsigned featureCode, featureState;
    char licenseInfo[128], productName[128];
    unsigned featureEnabled;
    nvmlGridLicenseExpiry_t licenseExpiry;
} nvmlGridLicensableFeature_t;
typedef struct {
    int isGridLicenseSupported;
    unsigned licensableFeaturesCount;
    nvmlGridLicensableFeature_t gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;
_Static_assert(sizeof(nvmlGridLicensableFeature_t) == 284, "layout of nvmlGridLicensableFeature_t, version 4");

/* "gpu.0.license=1:0,0:0": of each feature whether it is enabled, and its state. */
nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *out) {
    GUARD(gpu_of(device));
    const char *list = lookup_gpu(gpu_of(device), "license");
    if (nonsense()) {
        memset(out, 0xff, sizeof *out);
        return SUCCESS;
    }
    if (!list) return NOT_SUPPORTED;
    memset(out, 0, sizeof *out);
    out->isGridLicenseSupported = 1;
    for (const char *item = list; *item && out->licensableFeaturesCount < 3; item = strchr(item, ',') ? strchr(item, ',') + 1 : "") {
        nvmlGridLicensableFeature_t *feature = &out->gridLicensableFeatures[out->licensableFeaturesCount++];
        sscanf(item, "%u:%u", &feature->featureEnabled, &feature->featureState);
    }
    return SUCCESS;
}

/* "gpu.0.mig_uuids=MIG-a,MIG-b": handles of instances are 1000 times that of the GPU, plus the index. */
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *out) {
    GUARD(gpu_of(device));
    const char *list = lookup_gpu(gpu_of(device), "mig_uuids");
    for (unsigned left = index; list && left; left--) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    if (!list || !*list || *list == ',') return NOT_FOUND;  /* "MIG-a,,MIG-b" leaves a place free */
    *out = (nvmlDevice_t)(long)((gpu_of(device) + 1) * 1000 + index + 1);
    return SUCCESS;
}

NUMBER_CALL(nvmlDeviceGetMaxMigDeviceCount, "mig_most")

/* "gpu.0.mig_ids=7,,8": the GPU instance of each; without it, one more than its place. */
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *out) {
    int gpu = gpu_of(device) / 1000 - 1, place = gpu_of(device) % 1000;
    GUARD(gpu);
    const char *list = lookup_gpu(gpu, "mig_ids");
    for (int left = place; list && left; left--) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    if (gpu < 0) return NOT_SUPPORTED;
    *out = nonsense() ? (unsigned)strtoull(nonsense(), NULL, 0) : list ? (unsigned)strtoul(list, NULL, 10) : (unsigned)place + 1;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, unsigned *out) {
    (void)other;
    GUARD(gpu_of(one));
    return number(lookup_gpu(gpu_of(one), "distance"), out);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, unsigned index, unsigned *out) {
    (void)other, (void)index;
    GUARD(gpu_of(one));
    return number(lookup_gpu(gpu_of(one), "p2p"), out);
}
