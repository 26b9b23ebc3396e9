// IP addresses as text, such as another host reports them.
#pragma once

#include <string>

namespace framewire {

/// Whether it is "192.0.2.1", "2001:db8::1" or "fe80::1%eth0", and nothing else. A name is none: no name server is
/// asked because of what a peer says.
bool is_numeric_address(const std::string& text);

/// Whether connect() to it leads to the machine that dials, however it is written: also "127.1" and "::ffff:127.0.0.1",
/// as a user may have named a host.
bool leads_to_the_dialler(const std::string& text);

}  // namespace framewire
