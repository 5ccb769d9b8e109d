/* The C ABI from C99: the header compiles, names resolve, structures of older
 * and newer callers are understood. Runs without a driver. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrc/kvswap.h"
#include "tests/engine/check.h"

/* A caller compiled against a later header: the known fields and one more. */
typedef struct newer_options {
  kvswap_options known;
  uint64_t unknown_field;
} newer_options;

static const void* const kNoSources[1] = {NULL};
static void* const kNoDestinations[1] = {NULL};
static const size_t kOneByte[1] = {1};

static int swap_nothing(const kvswap_options* options) {
  return kvswap_swap_blocks_batch(NULL, NULL, NULL, 0, NULL, options, NULL);
}

static void test_names(void) {
  char version[32];
  snprintf(version, sizeof(version), "%d.%d.%d", KVSWAP_VERSION_MAJOR,
           KVSWAP_VERSION_MINOR, KVSWAP_VERSION_PATCH);
  CHECK(strcmp(kvswap_version_string(), version) == 0);
  CHECK(kvswap_version_number() == KVSWAP_VERSION_MAJOR * 10000 +
                                       KVSWAP_VERSION_MINOR * 100 +
                                       KVSWAP_VERSION_PATCH);
  CHECK(strcmp(kvswap_engine_name(KVSWAP_ENGINE_BATCH), "batch") == 0);
  CHECK(strcmp(kvswap_engine_name(99), "unknown") == 0);
  CHECK(strcmp(kvswap_engine_name(-1), "unknown") == 0);
  CHECK(kvswap_engine_from_name("loop") == KVSWAP_ENGINE_LOOP);
  CHECK(kvswap_engine_from_name("lop") == -1);
  CHECK(kvswap_engine_from_name(NULL) == -1);
  CHECK(kvswap_source_access_from_name("any") == KVSWAP_SOURCE_ACCESS_ANY);
  CHECK(strcmp(kvswap_reason_name(KVSWAP_REASON_LEGACY_STREAM),
               "legacy_stream") == 0);
  CHECK(strcmp(kvswap_status_name(KVSWAP_ERROR_OUT_OF_MEMORY),
               "out_of_memory") == 0);
  CHECK(strcmp(kvswap_memory_kind_name(KVSWAP_MEMORY_MANAGED), "managed") == 0);
  CHECK(strcmp(kvswap_stream_kind_name(KVSWAP_STREAM_CREATED), "created") == 0);
  CHECK(strlen(kvswap_reason_text(KVSWAP_REASON_SOURCE_ACCESS)) > 0);
}

static void test_pools(void) {
  const kvswap_region region = {(void*)&kOneByte, 1, 1, 0, 0};
  const int64_t pairs[2] = {0, 0};
  kvswap_pool pool = KVSWAP_POOL_INIT;
  kvswap_result result = KVSWAP_RESULT_INIT;
  kvswap_ticket* ticket = (kvswap_ticket*)&pool;
  int32_t done = 5;
  CHECK(kvswap_swap_pools(NULL, &pool, pairs, 1, NULL, NULL, &ticket,
                          &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(result.message, "the source pool is null") != NULL);
  CHECK(ticket == NULL);
  CHECK(kvswap_swap_pools(&pool, &pool, pairs, 1, NULL, NULL, NULL, NULL) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  pool.regions = &region;
  pool.region_count = 1;
  pool.block_count = 1;
  CHECK(kvswap_swap_pools(&pool, &pool, NULL, 0, NULL, NULL, &ticket,
                          &result) == KVSWAP_OK);
  CHECK(ticket != NULL);
  CHECK(kvswap_ticket_query(ticket, KVSWAP_ALL_LAYERS, &done, NULL) ==
        KVSWAP_OK);
  CHECK(done == 1);
  CHECK(kvswap_ticket_wait(ticket, KVSWAP_ALL_LAYERS, NULL) == KVSWAP_OK);
  kvswap_ticket_destroy(ticket);
  CHECK(kvswap_swap_pools(&pool, &pool, NULL, 1, NULL, NULL, NULL, &result) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_swap_pools(&pool, &pool, pairs, 1, NULL, NULL, NULL, &result) ==
        KVSWAP_ERROR_NO_DRIVER);
  CHECK(result.region == KVSWAP_NO_INDEX);
  pool.struct_size = 3;
  CHECK(kvswap_swap_pools(&pool, &pool, pairs, 1, NULL, NULL, NULL, &result) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
}

static void test_null_tickets_and_registrations(void) {
  kvswap_registration* registration = NULL;
  char memory[64];
  int32_t done = 0;
  CHECK(kvswap_ticket_query(NULL, KVSWAP_ALL_LAYERS, &done, NULL) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_ticket_wait(NULL, KVSWAP_ALL_LAYERS, NULL) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_ticket_wait_stream(NULL, KVSWAP_ALL_LAYERS, NULL, NULL) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  kvswap_ticket_destroy(NULL);
  CHECK(kvswap_register_host_memory(memory, sizeof(memory), -1, NULL, NULL,
                                    NULL) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_register_host_memory(NULL, 1, -1, NULL, &registration, NULL) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_register_host_memory(memory, sizeof(memory), -1, NULL,
                                    &registration,
                                    NULL) == KVSWAP_ERROR_NO_DRIVER);
  CHECK(registration == NULL);
  CHECK(kvswap_registration_chunk_count(NULL) == 0);
  CHECK(kvswap_unregister_host_memory(NULL, NULL) == KVSWAP_OK);
}

static void test_options_of_other_versions(void) {
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  newer_options newer;
  memset(&newer, 0, sizeof(newer));
  CHECK(swap_nothing(NULL) == KVSWAP_OK);
  CHECK(swap_nothing(&options) == KVSWAP_OK);

  options.engine = 77;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);
  /* An older caller's structure ends before `engine`: what lies there is not
   * the caller's. */
  options.struct_size = offsetof(kvswap_options, engine);
  CHECK(swap_nothing(&options) == KVSWAP_OK);
  options.struct_size = sizeof(size_t) - 1;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);

  newer.known.struct_size = sizeof(newer);
  CHECK(swap_nothing(&newer.known) == KVSWAP_OK);
  newer.unknown_field = 1;
  CHECK(swap_nothing(&newer.known) == KVSWAP_ERROR_INVALID_ARGUMENT);
}

static void test_bad_options(void) {
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  options.source_access = 3;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);
  options.source_access = 0;
  options.flags = 0x80000000u;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);
  options.flags = KVSWAP_FLAG_STRICT;
  options.reserved = 1;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);
}

static void test_result_of_an_older_caller(void) {
  kvswap_result result;
  const size_t known = offsetof(kvswap_result, submitted);
  size_t i;
  memset(&result, 0xab, sizeof(result));
  result.struct_size = known;
  CHECK(kvswap_swap_blocks_batch(kNoSources, kNoDestinations, kOneByte, 1, NULL,
                                 NULL,
                                 &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(result.struct_size == known);
  CHECK(result.code == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(result.index == 0);
  for (i = known; i < sizeof(result); ++i) {
    CHECK(((const unsigned char*)&result)[i] == 0xab);
  }
}

static void test_result_and_messages(void) {
  kvswap_result result = KVSWAP_RESULT_INIT;
  CHECK(kvswap_swap_blocks_batch(kNoSources, kNoDestinations, kOneByte, 1, NULL,
                                 NULL,
                                 &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(result.message, "src_ptrs[0] is null") != NULL);
  CHECK(strstr(result.message, "sizes[0] = 1") != NULL);
  CHECK(kvswap_swap_blocks_batch(NULL, kNoDestinations, kOneByte, 1, NULL, NULL,
                                 &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(result.message, "src_ptrs is a null array") != NULL);
  CHECK(result.index == KVSWAP_NO_INDEX);
  CHECK(swap_nothing(NULL) == KVSWAP_OK);
  result.struct_size = 0;
  CHECK(kvswap_swap_blocks_batch(NULL, NULL, NULL, 0, NULL, NULL, &result) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
}

static void test_without_a_driver(void) {
  kvswap_driver_info info = KVSWAP_DRIVER_INFO_INIT;
  kvswap_driver_entry entry = KVSWAP_DRIVER_ENTRY_INIT;
  kvswap_result result = KVSWAP_RESULT_INIT;
  int32_t device = 7;
  char byte = 0;
  const void* source = &byte;
  void* destination = &byte;
  CHECK(kvswap_get_driver_info(&info) == KVSWAP_OK);
  CHECK(info.usable == 0);
  CHECK(info.entry_count == 0);
  CHECK(strstr(info.tried, "/nowhere/libcuda.so.1 (from KVSWAP_LIBCUDA)"));
  CHECK(strstr(info.message, "KVSWAP_LIBCUDA"));
  CHECK(kvswap_get_driver_entry(0, &entry) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_get_driver_info(NULL) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_find_device(&source, &destination, kOneByte, 1, &device) ==
        KVSWAP_OK);
  CHECK(device == -1);
  CHECK(kvswap_swap_blocks_batch(&source, &destination, kOneByte, 1, NULL, NULL,
                                 &result) == KVSWAP_ERROR_NO_DRIVER);
  CHECK(strstr(result.message, "no CUDA driver library"));
}

static void test_plan_and_statistics(void) {
  kvswap_plan plan = KVSWAP_PLAN_INIT;
  kvswap_statistics before = KVSWAP_STATISTICS_INIT;
  kvswap_statistics after = KVSWAP_STATISTICS_INIT;
  const size_t zeros[2] = {0, 0};
  const void* const sources[2] = {NULL, NULL};
  void* const destinations[2] = {NULL, NULL};
  CHECK(kvswap_plan_blocks_batch(sources, destinations, zeros, 2, NULL, NULL,
                                 &plan, NULL) == KVSWAP_OK);
  CHECK(plan.dropped == 2);
  CHECK(plan.copies == 0);
  CHECK(plan.driver_calls == 0);
  CHECK(kvswap_plan_blocks_batch(sources, destinations, zeros, 2, NULL, NULL,
                                 NULL, NULL) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_get_statistics(&before) == KVSWAP_OK);
  CHECK(kvswap_swap_blocks_batch(sources, destinations, zeros, 2, NULL, NULL,
                                 NULL) == KVSWAP_OK);
  CHECK(kvswap_get_statistics(&after) == KVSWAP_OK);
  CHECK(after.calls == before.calls + 1);
  CHECK(after.dropped == before.dropped + 2);
  CHECK(after.errors == before.errors);
}

int main(void) {
  CHECK(getenv("KVSWAP_LIBCUDA") != NULL); /* as the BUILD file sets it */
  test_names();
  test_pools();
  test_null_tickets_and_registrations();
  test_options_of_other_versions();
  test_bad_options();
  test_result_of_an_older_caller();
  test_result_and_messages();
  test_without_a_driver();
  test_plan_and_statistics();
  return 0;
}
