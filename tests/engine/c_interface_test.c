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
  CHECK(kvswap_engine_from_name("bridge") == KVSWAP_ENGINE_BRIDGE);
  CHECK(kvswap_priority_from_name("compute") == KVSWAP_PRIORITY_COMPUTE);
  CHECK(kvswap_direction_from_name("host_to_host") ==
        KVSWAP_DIRECTION_HOST_TO_HOST);
  CHECK(kvswap_kernel_from_name("bulk") == KVSWAP_KERNEL_BULK);
  CHECK(strcmp(kvswap_priority_name(KVSWAP_PRIORITY_THROUGHPUT),
               "throughput") == 0);
  CHECK(strcmp(kvswap_direction_name(KVSWAP_DIRECTION_DEVICE_TO_HOST),
               "device_to_host") == 0);
  CHECK(strcmp(kvswap_kernel_name(KVSWAP_KERNEL_PLAIN), "plain") == 0);
}

static int is_invalid(const kvswap_policy_rule* rules, const char* part) {
  kvswap_policy policy = KVSWAP_POLICY_INIT;
  kvswap_result result = KVSWAP_RESULT_INIT;
  policy.rules = rules;
  policy.rule_count = 2;
  return kvswap_set_policy(&policy, &result) == KVSWAP_ERROR_INVALID_ARGUMENT &&
         result.index == KVSWAP_NO_INDEX &&
         strstr(result.message, "rule 1 of the policy: ") != NULL &&
         strstr(result.message, part) != NULL;
}

static void test_rules_that_are_wrong(void) {
  const kvswap_policy_rule plain = {-1, -1, 0, 0, 0, 0, 3, 1, 16, 1024, 0, 0};
  const kvswap_policy_rule bulk = {-1, -1, 0, 0, 0, 0, 3, 2, 2, 32, 8, 8192};
  const kvswap_policy_rule batch = {-1, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
  kvswap_policy_rule rules[2];
  rules[0] = plain;
#define CHECK_INVALID(good, field, value, part) \
  rules[1] = good;                              \
  rules[1].field = value;                       \
  CHECK(is_invalid(rules, part))

  CHECK_INVALID(batch, direction, -2, "direction -2 is none");
  CHECK_INVALID(batch, direction, 4, "direction 4 is none");
  CHECK_INVALID(batch, priority, 2, "priority 2 is none");
  CHECK_INVALID(batch, copy_engine, KVSWAP_ENGINE_KERNEL,
                "copy_engine 3 (kernel)");
  CHECK_INVALID(batch, copy_engine, -1, "copy_engine -1 (unknown)");
  CHECK_INVALID(batch, reserved, 1, "reserved is 1");
  CHECK_INVALID(batch, engine, KVSWAP_ENGINE_AUTO, "engine 0 (auto)");
  CHECK_INVALID(batch, engine, KVSWAP_ENGINE_BRIDGE, "engine 4 (bridge)");
  CHECK_INVALID(batch, kernel, 1, "rules for the kernel engine");
  CHECK_INVALID(batch, ctas, 1, "rules for the kernel engine");
  CHECK_INVALID(batch, threads, 1, "rules for the kernel engine");
  CHECK_INVALID(batch, stages, 1, "rules for the kernel engine");
  CHECK_INVALID(batch, stage_bytes, 1, "rules for the kernel engine");
  CHECK_INVALID(plain, kernel, KVSWAP_KERNEL_NONE, "kernel 0 (none) cannot");
  CHECK_INVALID(plain, kernel, 3, "kernel 3 (unknown) cannot");
  CHECK_INVALID(plain, ctas, 0, "ctas is 0");
  CHECK_INVALID(bulk, ctas, -1, "ctas is -1");
  CHECK_INVALID(plain, threads, 0, "threads is 0");
  CHECK_INVALID(plain, threads, 48, "threads is 48");
  CHECK_INVALID(plain, threads, 1056, "threads is 1056");
  CHECK_INVALID(plain, stages, 2, "of the bulk kernel");
  CHECK_INVALID(plain, stage_bytes, 128, "of the bulk kernel");
  CHECK_INVALID(bulk, threads, 64, "threads is 64");
  CHECK_INVALID(bulk, stages, 1, "stages is 1");
  CHECK_INVALID(bulk, stages, 33, "stages is 33");
  CHECK_INVALID(bulk, stage_bytes, 0, "stage_bytes is 0");
  CHECK_INVALID(bulk, stage_bytes, 8200, "stage_bytes is 8200");
  CHECK_INVALID(bulk, stage_bytes, 29056, "shared memory");
  CHECK_INVALID(bulk, stage_bytes, 2147483520, "shared memory");
#undef CHECK_INVALID
}

static size_t count_of_policy(int32_t compute_capability) {
  size_t count = 0;
  CHECK(kvswap_get_policy(compute_capability, NULL, 0, &count) == KVSWAP_OK);
  return count;
}

static void test_policy_of_the_process(void) {
  kvswap_policy_rule rules[2] = {{0, 1, 2, 0, 5, 6, 3, 2, 9, 32, 11, 128},
                                 {-1, -1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0}};
  kvswap_policy_rule found[3];
  kvswap_policy policy = KVSWAP_POLICY_INIT;
  kvswap_result result = KVSWAP_RESULT_INIT;
  const size_t family_count = count_of_policy(90);
  size_t count = 0;
  CHECK(family_count > 2);
  CHECK(count_of_policy(80) > 2 && count_of_policy(120) > 2);

  policy.rules = rules;
  policy.rule_count = 2;
  CHECK(kvswap_set_policy(&policy, &result) == KVSWAP_OK);
  CHECK(result.message[0] == '\0');
  rules[1].engine = KVSWAP_ENGINE_BATCH; /* the rules were copied */
  memset(found, 0xab, sizeof(found));
  CHECK(kvswap_get_policy(90, found, 3, &count) == KVSWAP_OK);
  CHECK(count == 2);
  CHECK(memcmp(&found[0], &rules[0], sizeof(rules[0])) == 0);
  CHECK(found[1].engine == KVSWAP_ENGINE_LOOP);
  CHECK(((unsigned char*)&found[2])[0] == 0xab);
  memset(found, 0xab, sizeof(found));
  CHECK(kvswap_get_policy(80, found, 1, &count) == KVSWAP_OK);
  CHECK(count == 2 && ((unsigned char*)&found[1])[0] == 0xab);

  /* What is wrong changes nothing. */
  rules[1].engine = 7;
  CHECK(kvswap_set_policy(&policy, NULL) == KVSWAP_ERROR_INVALID_ARGUMENT);
  policy.rules = NULL;
  CHECK(kvswap_set_policy(&policy, &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(result.message, "policy.rules is null") != NULL);
  policy.struct_size = 3;
  CHECK(kvswap_set_policy(&policy, &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(result.message, "policy.struct_size is 3") != NULL);
  policy.struct_size = sizeof(policy);
  result.struct_size = 3;
  CHECK(kvswap_set_policy(NULL, &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_get_policy(90, NULL, 1, &count) ==
        KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(kvswap_get_policy(90, found, 3, NULL) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(count_of_policy(90) == 2);

  /* A policy without rules is one; an older caller's has none. */
  policy.rules = rules;
  policy.struct_size = sizeof(size_t);
  CHECK(kvswap_set_policy(&policy, NULL) == KVSWAP_OK);
  CHECK(count_of_policy(90) == 0);
  CHECK(kvswap_set_policy(NULL, NULL) == KVSWAP_OK);
  CHECK(count_of_policy(90) == family_count);
}

static void test_policy_of_a_call(void) {
  kvswap_policy_rule rules[1] = {{-1, -1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0}};
  kvswap_policy policy = KVSWAP_POLICY_INIT;
  kvswap_options options = KVSWAP_OPTIONS_INIT;
  kvswap_result result = KVSWAP_RESULT_INIT;
  options.policy = &policy;
  CHECK(swap_nothing(&options) == KVSWAP_OK);
  policy.rules = rules;
  policy.rule_count = 1;
  CHECK(swap_nothing(&options) == KVSWAP_OK);
  rules[0].direction = 9;
  CHECK(kvswap_swap_blocks_batch(NULL, NULL, NULL, 0, NULL, &options,
                                 &result) == KVSWAP_ERROR_INVALID_ARGUMENT);
  CHECK(result.index == KVSWAP_NO_INDEX);
  CHECK(strstr(result.message, "rule 0 of the policy: direction 9") != NULL);
  policy.struct_size = 1;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);
  /* An older caller has no policy. */
  options.struct_size = offsetof(kvswap_options, policy);
  CHECK(swap_nothing(&options) == KVSWAP_OK);
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
  options.priority = 2;
  CHECK(swap_nothing(&options) == KVSWAP_ERROR_INVALID_ARGUMENT);
  options.priority = KVSWAP_PRIORITY_COMPUTE;
  options.flags = KVSWAP_FLAG_STRICT | KVSWAP_FLAG_PREFER_OVERLAP;
  CHECK(swap_nothing(&options) == KVSWAP_OK);
  options.flags = KVSWAP_FLAG_CHECK;
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
  CHECK(strstr(result.message,
               "the environment variable KVSWAP_LIBCUDA is "
               "\"/nowhere/libcuda.so.1\", which cannot be loaded as the CUDA "
               "driver") == result.message);
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
  test_rules_that_are_wrong();
  test_policy_of_the_process();
  test_policy_of_a_call();
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
