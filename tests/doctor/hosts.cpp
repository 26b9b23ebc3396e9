#include "tests/doctor/hosts.hpp"

namespace framewire::test {

Measurement measured(double gigabytes_per_second) {
  Measurement row;
  row.count = 1000;
  row.gigabytes_per_second = gigabytes_per_second;
  row.latency_p50_us = 12.3;
  row.latency_p99_us = 45.6;
  return row;
}

Measurement failed(const std::string& trouble) {
  Measurement row;
  row.trouble = trouble;
  return row;
}

RemoteHostReport big() {
  RemoteHostReport host;
  host.target.at = {.host = "big", .port = 5290};
  host.address = "192.168.7.2";
  host.address_here = "192.168.7.1";
  host.round_trip_us = 210;
  host.auth = "psk";
  host.control = "tls1.3";
  host.program = "framewire-bench 0.1.0";
  return host;
}

RemoteHostReport fast_big() {
  RemoteHostReport host = big();
  host.links = {
      {.link = LinkKind::local,
       .not_tried = "it needs the same user on the same machine",
       .latency = {},
       .there = {},
       .back = {}},
      {.link = LinkKind::rdma,
       .not_tried = "",
       .latency = measured(0),
       .there = measured(11.5),
       .back = measured(11.6)},
      {.link = LinkKind::tcp, .not_tried = "", .latency = measured(0), .there = measured(9), .back = measured(8.5)}};
  return host;
}

}  // namespace framewire::test
