// Fake connections to other machines.
#pragma once

#include "doctor/facts.hpp"

namespace framewire::test {

/// A row that succeeded.
Measurement measured(double gigabytes_per_second);
/// A row that failed.
Measurement failed(const std::string& trouble);

/// Host "big" with the shared key and a bench server. No links are measured yet.
RemoteHostReport big();

/// The same, with working rdma and tcp.
RemoteHostReport fast_big();

}  // namespace framewire::test
