// Names and texts of the C ABI's enumerators, in one place.

#ifndef KVSWAP_ENGINE_NAMES_H_
#define KVSWAP_ENGINE_NAMES_H_

#include <cstdint>

namespace kvswap::engine {

const char* StatusName(std::int32_t status);
const char* EngineName(std::int32_t engine);
const char* ReasonName(std::int32_t reason);
const char* ReasonText(std::int32_t reason);
const char* SourceAccessName(std::int32_t source_access);
const char* StreamKindName(std::int32_t stream_kind);
const char* MemoryKindName(std::int32_t memory_kind);
const char* PriorityName(std::int32_t priority);
const char* DirectionName(std::int32_t direction);
const char* KernelName(std::int32_t kernel);

// -1 where there is none of that name, or `name` is null.
std::int32_t EngineFromName(const char* name);
std::int32_t SourceAccessFromName(const char* name);
std::int32_t PriorityFromName(const char* name);
std::int32_t DirectionFromName(const char* name);
std::int32_t KernelFromName(const char* name);

// Whether a number is one of the enumerators.
bool IsEngine(std::int32_t number);
bool IsSourceAccess(std::int32_t number);
bool IsPriority(std::int32_t number);
bool IsDirection(std::int32_t number);
bool IsKernel(std::int32_t number);

// "auto, batch, loop, …": for messages.
const char* AllEngineNames();

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_NAMES_H_
