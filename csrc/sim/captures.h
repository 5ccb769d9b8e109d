// Stream capture, and what it forbids elsewhere.

#ifndef KVSWAP_SIM_CAPTURES_H_
#define KVSWAP_SIM_CAPTURES_H_

#include <memory>
#include <vector>

#include "csrc/sim/driver.h"

namespace kvswap::sim {

void Invalidate(Capture* capture);

// Adds a node after the stream's latest ones. kErrorStreamCaptureInvalidated
// where the capture is not valid any more.
Result AddToCapture(Driver& driver, Stream* stream,
                    const std::shared_ptr<const Work>& work);

// The end of a stream that captures: its capture can never end well.
void EndCaptureOfStream(Driver& driver, const std::shared_ptr<Stream>& stream);

// For work on the legacy stream while a blocking stream of its context
// captures: kErrorStreamCaptureImplicit, and those captures are invalid.
Result RefuseImplicitDependency(Driver& driver, Stream* stream);

// For calls that a capture in another thread (global mode) or in this one (all
// modes but relaxed) forbids: kErrorStreamCaptureUnsupported, and those
// captures are invalid.
Result RefuseUnsafeCall(Driver& driver);

// For waiting for a stream, or asking whether it is done.
Result RefuseWaitingForStream(Driver& driver, Stream* stream);

// For waiting for a whole context.
Result RefuseDuringContextCapture(Driver& driver, const Context& context);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_CAPTURES_H_
