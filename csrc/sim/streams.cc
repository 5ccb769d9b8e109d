#include "csrc/sim/streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "csrc/sim/captures.h"
#include "csrc/sim/contexts.h"
#include "csrc/sim/driver_functions.h"
#include "csrc/sim/host_memory.h"
#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

// What a handle is that is no stream.
std::string DescribeNoStream(StreamHandle handle) {
  const std::string what = "the stream argument " +
                           Hexadecimal(reinterpret_cast<std::uint64_t>(handle));
  if (OnCallingThreadsStack(handle)) {
    return what +
           " is an address on the calling thread's stack, not a stream: was "
           "the "
           "function called with another version's arguments?";
  }
  return what + " is no stream of this driver";
}

std::shared_ptr<Stream> PerThreadStream(
    Driver& driver, const std::shared_ptr<Context>& context) {
  const std::uint64_t thread = driver.Thread().key;
  for (const std::shared_ptr<Stream>& stream : context->streams) {
    if (stream->kind == StreamKind::kPerThread && stream->thread == thread) {
      return stream;
    }
  }
  auto stream = std::make_shared<Stream>();
  stream->id = driver.NextId();
  stream->kind = StreamKind::kPerThread;
  stream->context = context;
  stream->thread = thread;
  context->streams.push_back(stream);
  return stream;
}

Result CreateStream(Driver& driver, Call* call, StreamHandle* stream,
                    unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~kStreamNonBlocking) != 0) {
    return abi::kErrorInvalidValue;
  }
  std::shared_ptr<Context> context;
  const Result result = CurrentContext(driver, &context);
  if (result != abi::kSuccess) return result;
  auto created = std::make_shared<Stream>();
  created->id = driver.NextId();
  created->context = context;
  created->flags = flags;
  // Priorities out of range are moved into it.
  created->priority =
      std::clamp(priority, kGreatestStreamPriority, kLeastStreamPriority);
  created->handle = driver.streams.Add(created);
  context->streams.push_back(created);
  *stream = static_cast<StreamHandle>(created->handle);
  call->Output("stream", *stream);
  return abi::kSuccess;
}

// Numbers below are no addresses.
constexpr std::uintptr_t kLeastAddress = 4096;

// Calls `use(driver, stream)` with the stream of a handle.
template <typename Use>
Result WithStream(Call* call, StreamHandle handle, Use use) {
  return call->Run([&](Driver& driver) -> Result {
    std::shared_ptr<Stream> stream;
    const Result result = FindStream(driver, call, handle, &stream);
    return result == abi::kSuccess ? use(driver, stream.get()) : result;
  });
}

// The same for calls that tell about a stream. On the legacy stream even they
// count as a use of it.
template <typename Use>
Result TellAboutStream(Call* call, StreamHandle handle, Use use) {
  return WithStream(call, handle, [&](Driver& driver, Stream* stream) {
    if (stream->capture != nullptr && !stream->capture->valid) {
      return abi::kErrorStreamCaptureInvalidated;
    }
    const Result result = RefuseImplicitDependency(driver, stream);
    return result == abi::kSuccess ? use(stream) : result;
  });
}

}  // namespace

Result FindStream(Driver& driver, Call* call, StreamHandle handle,
                  std::shared_ptr<Stream>* stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value == abi::kStreamNull || value == abi::kStreamLegacy ||
      value == abi::kStreamPerThread) {
    std::shared_ptr<Context> context;
    const Result result = CurrentContext(driver, &context);
    if (result != abi::kSuccess) return result;
    *stream = value == abi::kStreamPerThread ? PerThreadStream(driver, context)
                                             : context->legacy;
    return abi::kSuccess;
  }
  *stream = driver.streams.Find(handle);
  if (*stream != nullptr) return (*stream)->context->failure;
  if (driver.streams.FindRemoved(handle) != nullptr) {
    call->Die("the stream argument " + Hexadecimal(value) +
              " is a stream that was destroyed");
  }
  const std::string text = DescribeNoStream(handle);
  // The driver looks at what the handle points to.
  if (value < kLeastAddress) call->Die(text);
  call->Note(text);
  driver.Violation(std::string(Describe(call->entry()).symbol) + ": " + text);
  return abi::kErrorInvalidHandle;
}

std::vector<TaskId> Predecessors(Driver& driver, Stream* stream) {
  driver.scheduler.Prune(&stream->tail);
  std::vector<TaskId> tasks = stream->tail;
  Context& context = *stream->context;
  const auto add = [&](Stream* other) {
    driver.scheduler.Prune(&other->tail);
    tasks.insert(tasks.end(), other->tail.begin(), other->tail.end());
  };
  if (stream->kind == StreamKind::kLegacy) {
    for (const std::shared_ptr<Stream>& other : context.streams) {
      if (other->IsBlocking()) add(other.get());
    }
  } else if (stream->IsBlocking()) {
    add(context.legacy.get());
  }
  return tasks;
}

TaskId Append(Driver& driver, Stream* stream, Scheduler::Action action) {
  const TaskId task =
      driver.scheduler.Add(std::move(action), Predecessors(driver, stream));
  stream->tail = {task};
  return task;
}

Result Submit(Driver& driver, Stream* stream,
              const std::shared_ptr<const Work>& work) {
  if (stream->capture != nullptr) {
    return AddToCapture(driver, stream, work);
  }
  Append(driver, stream,
         InContext(stream->context, [&driver, work] { work->Run(driver); }));
  return abi::kSuccess;
}

std::vector<TaskId> UnfinishedWork(Driver& driver, Stream* stream) {
  if (stream->kind == StreamKind::kLegacy) return Predecessors(driver, stream);
  driver.scheduler.Prune(&stream->tail);
  return stream->tail;
}

void SynchronizeStream(Driver& driver, Stream* stream) {
  driver.scheduler.RunUntilFinished(UnfinishedWork(driver, stream));
}

extern "C" {

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  Call call(Entry::cuStreamCreate);
  call.Argument("stream", stream).Argument("flags", flags);
  return call.Run([&](Driver& driver) {
    return CreateStream(driver, &call, stream, flags, 0);
  });
}

Result cuStreamCreateWithPriority(StreamHandle* stream, unsigned flags,
                                  int priority) {
  Call call(Entry::cuStreamCreateWithPriority);
  call.Argument("stream", stream)
      .Argument("flags", flags)
      .Argument("priority", priority);
  return call.Run([&](Driver& driver) {
    return CreateStream(driver, &call, stream, flags, priority);
  });
}

Result cuStreamDestroy_v2(StreamHandle stream) {
  Call call(Entry::cuStreamDestroy_v2);
  call.Argument("stream", stream);
  return call.Run([&](Driver& driver) -> Result {
    // The default streams cannot be destroyed.
    if (reinterpret_cast<std::uintptr_t>(stream) <= abi::kStreamPerThread) {
      return abi::kErrorInvalidHandle;
    }
    std::shared_ptr<Stream> keep;
    const Result result = FindStream(driver, &call, stream, &keep);
    if (keep == nullptr) return result;
    if (keep->capture != nullptr) EndCaptureOfStream(driver, keep);
    keep->destroyed = true;
    driver.streams.Remove(stream);
    // Its work still runs, and the legacy stream still waits for it.
    auto& streams = keep->context->streams;
    streams.erase(
        std::remove_if(streams.begin(), streams.end(),
                       [&](const std::shared_ptr<Stream>& other) {
                         return other->destroyed &&
                                driver.scheduler.Finished(other->tail);
                       }),
        streams.end());
    return result;
  });
}

Result cuStreamSynchronize(StreamHandle stream) {
  Call call(Entry::cuStreamSynchronize);
  call.Argument("stream", stream);
  return WithStream(&call, stream, [&](Driver& driver, Stream* found) {
    const Result result = RefuseWaitingForStream(driver, found);
    if (result != abi::kSuccess) return result;
    SynchronizeStream(driver, found);
    return found->context->failure;
  });
}

Result cuStreamQuery(StreamHandle stream) {
  Call call(Entry::cuStreamQuery);
  call.Argument("stream", stream);
  return WithStream(&call, stream, [&](Driver& driver, Stream* found) {
    const Result result = RefuseWaitingForStream(driver, found);
    if (result != abi::kSuccess) return result;
    return driver.scheduler.Finished(UnfinishedWork(driver, found))
               ? abi::kSuccess
               : abi::kErrorNotReady;
  });
}

Result cuStreamGetCtx(StreamHandle stream, ContextHandle* context) {
  Call call(Entry::cuStreamGetCtx);
  call.Argument("stream", stream).Argument("context", context);
  return TellAboutStream(&call, stream, [&](Stream* found) -> Result {
    if (context == nullptr) return abi::kErrorInvalidValue;
    *context = static_cast<ContextHandle>(found->context->handle);
    call.Output("context", *context);
    return abi::kSuccess;
  });
}

Result cuStreamGetCtx_v2(StreamHandle stream, ContextHandle* context,
                         void** green_context) {
  Call call(Entry::cuStreamGetCtx_v2);
  call.Argument("stream", stream)
      .Argument("context", context)
      .Argument("green_context", green_context);
  return TellAboutStream(&call, stream, [&](Stream* found) -> Result {
    if (context == nullptr && green_context == nullptr) {
      return abi::kErrorInvalidValue;
    }
    if (context != nullptr) {
      *context = static_cast<ContextHandle>(found->context->handle);
      call.Output("context", *context);
    }
    if (green_context != nullptr) *green_context = nullptr;
    return abi::kSuccess;
  });
}

Result cuStreamGetFlags(StreamHandle stream, unsigned* flags) {
  Call call(Entry::cuStreamGetFlags);
  call.Argument("stream", stream).Argument("flags", flags);
  return TellAboutStream(&call, stream, [&](Stream* found) -> Result {
    if (flags == nullptr) return abi::kErrorInvalidValue;
    *flags = found->flags;
    call.Output("flags", *flags);
    return abi::kSuccess;
  });
}

Result cuStreamGetPriority(StreamHandle stream, int* priority) {
  Call call(Entry::cuStreamGetPriority);
  call.Argument("stream", stream).Argument("priority", priority);
  return TellAboutStream(&call, stream, [&](Stream* found) -> Result {
    if (priority == nullptr) return abi::kErrorInvalidValue;
    *priority = found->priority;
    call.Output("priority", *priority);
    return abi::kSuccess;
  });
}

Result cuStreamGetId(StreamHandle stream, unsigned long long* id) {
  Call call(Entry::cuStreamGetId);
  call.Argument("stream", stream).Argument("id", id);
  return TellAboutStream(&call, stream, [&](Stream* found) -> Result {
    if (id == nullptr) return abi::kErrorInvalidValue;
    *id = found->id;
    call.Output("id", *id);
    return abi::kSuccess;
  });
}

Result cuStreamGetDevice(StreamHandle stream, Device* device) {
  Call call(Entry::cuStreamGetDevice);
  call.Argument("stream", stream).Argument("device", device);
  return TellAboutStream(&call, stream, [&](Stream* found) -> Result {
    if (device == nullptr) return abi::kErrorInvalidValue;
    *device = found->context->device;
    call.Output("device", *device);
    return abi::kSuccess;
  });
}

Result cuStreamSynchronize_ptsz(StreamHandle stream) {
  return cuStreamSynchronize(PerThread(stream));
}

Result cuStreamQuery_ptsz(StreamHandle stream) {
  return cuStreamQuery(PerThread(stream));
}

Result cuStreamGetCtx_ptsz(StreamHandle stream, ContextHandle* context) {
  return cuStreamGetCtx(PerThread(stream), context);
}

Result cuStreamGetCtx_v2_ptsz(StreamHandle stream, ContextHandle* context,
                              void** green_context) {
  return cuStreamGetCtx_v2(PerThread(stream), context, green_context);
}

Result cuStreamGetFlags_ptsz(StreamHandle stream, unsigned* flags) {
  return cuStreamGetFlags(PerThread(stream), flags);
}

Result cuStreamGetPriority_ptsz(StreamHandle stream, int* priority) {
  return cuStreamGetPriority(PerThread(stream), priority);
}

Result cuStreamGetId_ptsz(StreamHandle stream, unsigned long long* id) {
  return cuStreamGetId(PerThread(stream), id);
}

Result cuStreamGetDevice_ptsz(StreamHandle stream, Device* device) {
  return cuStreamGetDevice(PerThread(stream), device);
}

}  // extern "C"

}  // namespace kvswap::sim
