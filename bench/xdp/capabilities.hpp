// The capabilities (capabilities(7)) that rows of Ethernet frames need.
#pragma once

namespace framewire {

enum class FrameRights {
  xdp,           // an XDP socket and program on an interface that is there
  cable,         // two network namespaces and a virtual cable between them
  xdp_on_cable,  // both
};

/// Throws Error (refused) if this thread lacks one: it names those, and the command that gives them.
void require_capabilities(FrameRights rights);

}  // namespace framewire
