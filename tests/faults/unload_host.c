/* A host that loads libkvswap.so, uses it and unloads it, again and again.
 *
 *   unload_host LIBKVSWAP LIBCUDA ROUNDS
 *
 * LIBCUDA is the simulated driver, which counts what is left alive. Prints a
 * line of JSON: what the first round left, and what the last one did. Exit
 * status 1: something went wrong, said on standard error. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csrc/kvswap.h"

#define COUNT 8
#define BLOCK 512

static void* driver;

static void Fail(const char* what) {
  const char* why = dlerror();
  fprintf(stderr, "%s: %s\n", what, why != NULL ? why : "failed");
  exit(1);
}

static void* Find(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function == NULL) Fail(name);
  return function;
}

static int64_t Live(const char* kind) {
  int64_t (*live)(const char*);
  *(void**)&live = Find(driver, "cuda_sim_live");
  return live(kind);
}

static void Call(const char* name, void* first, size_t second) {
  int (*function)(void*, size_t);
  *(void**)&function = Find(driver, name);
  const int code = function(first, second);
  if (code != 0) {
    fprintf(stderr, "%s answered %d\n", name, code);
    exit(1);
  }
}

static long ResidentPages(void) {
  long size = 0;
  long resident = 0;
  FILE* statm = fopen("/proc/self/statm", "r");
  if (statm == NULL || fscanf(statm, "%ld %ld", &size, &resident) != 2) {
    Fail("/proc/self/statm");
  }
  fclose(statm);
  return resident;
}

struct work {
  const char* path;
  char* host;
  char* device;
};

/* Loads the library, copies by two engines, and unloads it. */
static void* Use(void* argument) {
  const struct work* work = argument;
  void* context = NULL;
  Call("cuDevicePrimaryCtxRetain", &context, 0);
  Call("cuCtxPushCurrent_v2", context, 0);
  void* library = dlopen(work->path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) Fail("dlopen");
  int (*swap)(const void* const*, void* const*, const size_t*, size_t, void*,
              const kvswap_options*, kvswap_result*);
  *(void**)&swap = Find(library, "kvswap_swap_blocks_batch");
  const void* sources[COUNT];
  void* destinations[COUNT];
  size_t sizes[COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    sources[i] = work->host + i * BLOCK;
    destinations[i] = work->device + (COUNT - 1 - i) * BLOCK;
    sizes[i] = BLOCK;
  }
  const int engines[] = {KVSWAP_ENGINE_KERNEL, KVSWAP_ENGINE_BRIDGE};
  for (size_t i = 0; i < 2; ++i) {
    kvswap_options options = KVSWAP_OPTIONS_INIT;
    kvswap_result result = KVSWAP_RESULT_INIT;
    options.engine = engines[i];
    if (swap(sources, destinations, sizes, COUNT, NULL, &options, &result) !=
            KVSWAP_OK ||
        result.copies[engines[i]] != COUNT) {
      fprintf(stderr, "engine %d: %s\n", engines[i], result.message);
      exit(1);
    }
  }
  if (dlclose(library) != 0) Fail("dlclose");
  Call("cuCtxSynchronize", NULL, 0);
  Call("cuCtxPopCurrent_v2", NULL, 0);
  Call("cuDevicePrimaryCtxRelease_v2", NULL, 0);
  return NULL;
}

int main(int count, char** values) {
  if (count != 4) Fail("unload_host LIBKVSWAP LIBCUDA ROUNDS");
  driver = dlopen(values[2], RTLD_NOW);
  if (driver == NULL) Fail("dlopen of the driver");
  Call("cuInit", NULL, 0);
  /* Keeps the primary context while rounds come and go. */
  void* context = NULL;
  Call("cuDevicePrimaryCtxRetain", &context, 0);
  Call("cuCtxPushCurrent_v2", context, 0);
  struct work work = {values[1], NULL, NULL};
  int (*allocate)(void*, size_t, unsigned);
  *(void**)&allocate = Find(driver, "cuMemHostAlloc");
  if (allocate(&work.host, COUNT * BLOCK, 0) != 0) Fail("cuMemHostAlloc");
  Call("cuMemAlloc_v2", &work.device, COUNT * BLOCK);
  const char* kinds[] = {"streams", "events", "modules", "primary_retained"};
  int64_t first[4] = {0};
  long first_pages = 0;
  const int rounds = atoi(values[3]);
  for (int round = 0; round < rounds; ++round) {
    memset(work.host, round, COUNT * BLOCK);
    if (round % 2 == 0) {
      Use(&work);
    } else {
      /* What threads keep for themselves ends with them, loaded or not. */
      pthread_t thread;
      if (pthread_create(&thread, NULL, &Use, &work) != 0) Fail("thread");
      pthread_join(thread, NULL);
    }
    int (*peek)(uint64_t, void*, size_t);
    *(void**)&peek = Find(driver, "cuda_sim_peek");
    char copied[COUNT * BLOCK];
    if (peek((uint64_t)(uintptr_t)work.device, copied, sizeof(copied)) != 0 ||
        memcmp(copied, work.host, sizeof(copied)) != 0) {
      Fail("bytes are wrong");
    }
    /* The record of calls is the driver's own, and grows. */
    void (*forget)(void);
    *(void**)&forget = Find(driver, "cuda_sim_clear_trace");
    forget();
    if (round == 1) {
      for (int i = 0; i < 4; ++i) first[i] = Live(kinds[i]);
    }
    if (round == rounds / 2) first_pages = ResidentPages();
  }
  printf("{\"grown_pages\": %ld", ResidentPages() - first_pages);
  for (int i = 0; i < 4; ++i) {
    printf(", \"%s\": [%lld, %lld]", kinds[i], (long long)first[i],
           (long long)Live(kinds[i]));
  }
  printf("}\n");
  return 0;
}
