// Ways to machines that we do not have, as facts.
#pragma once

#include "doctor/host_facts.hpp"

namespace framewire::test {

/// One row that went well.
Measurement measured(double gigabytes_per_second);
/// One that did not.
Measurement failed(const std::string& trouble);

/// "big", reached with the shared key, with a bench server and no links measured yet.
RemoteHostReport big();

/// The same, with rdma and tcp that work.
RemoteHostReport fast_big();

}  // namespace framewire::test
