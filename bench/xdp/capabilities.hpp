// The capabilities (capabilities(7)) that rows of Ethernet frames need.
#pragma once

namespace framewire {

/// Throws Error (refused) if this thread lacks a capability for XDP on an interface, and if `makes_cable` for two
/// network namespaces with a virtual cable between them. Locking memory needs one only beyond the limit (ulimit -l).
/// The error names those that are lacking, and the command that gives them all.
void require_capabilities(bool makes_cable);

}  // namespace framewire
