/* The profile of a stand-in driver: "key=value" lines in the file named by GPUDOCTOR_FAKE_PROFILE.
 * Every function of a stand-in starts with a guard, so that a profile can make any of them fail, hang or abort. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_MAX (1 << 18)

static const char *profile_text(void) {
    static char text[PROFILE_MAX];
    static int loaded;
    if (!loaded) {
        const char *path = getenv("GPUDOCTOR_FAKE_PROFILE");
        FILE *file = path ? fopen(path, "r") : NULL;
        if (!file) {
            fprintf(stderr, "stand-in: GPUDOCTOR_FAKE_PROFILE names no readable file\n");
            abort();
        }
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        loaded = 1;
    }
    return text;
}

/* The value of a key, copied to a ring of buffers; NULL where the profile does not have it. */
static const char *lookup(const char *key) {
    static char ring[8][4096];
    static unsigned turn;
    size_t length = strlen(key);
    for (const char *line = profile_text(); line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            char *out = ring[turn++ % 8];
            size_t size = strcspn(line + length + 1, "\n");
            if (size > sizeof ring[0] - 1) size = sizeof ring[0] - 1;
            memcpy(out, line + length + 1, size);
            out[size] = 0;
            return out;
        }
    }
    return NULL;
}

static const char *lookup_gpu(int gpu, const char *key) {
    char name[256];
    snprintf(name, sizeof name, "gpu.%d.%s", gpu, key);
    return lookup(name);
}

static int gpu_count(void) {
    const char *value = lookup("gpus");
    return value ? atoi(value) : 0;
}

static const char *lookup_action(const char *action, const char *symbol) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", action, symbol);
    return lookup(key);
}

/* The function that is being answered, for `garbage.<symbol>`. */
static const char *answering = "";

/* The nonsense that this function is to give as a number, NULL if it answers sensibly. */
static const char *nonsense(void) { return lookup_action("garbage", answering); }

/* 0 to go on, else the code to return. gpu < 0: a call about no GPU. */
static int guard(int gpu, const char *symbol) {
    answering = symbol;
    if (lookup_action("hang", symbol)) {
        for (;;) pause();
    }
    if (lookup_action("abort", symbol)) abort();
    const char *code = lookup_action("fail", symbol);
    if (!code && gpu >= 0) {
        char key[256];
        snprintf(key, sizeof key, "fail.%s", symbol);
        code = lookup_gpu(gpu, key);
        if (!code) code = lookup_gpu(gpu, "fail");
    }
    return code ? atoi(code) : 0;
}
