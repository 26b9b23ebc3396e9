// Which memory a work request may access.
#include "tests/sim/verbs_model.hpp"

namespace framewire::sim {

namespace {

bool is_inside(std::uint64_t address, std::uint64_t bytes, std::uint64_t begin, std::uint64_t length) {
  return address >= begin && bytes <= length && address - begin <= length - bytes;
}

}  // namespace

std::byte* local_memory(World& world, const QueuePair& pair, const ibv_sge& part, unsigned access) {
  const auto found = Fabric::get().regions.find(part.lkey);
  if (found == Fabric::get().regions.end()) {
    world.fail("a work request in flight uses memory that is not registered, or not any more");
  }
  const Region& region = *found->second;
  if (region.pd != pair.pd || (region.access & access) != access ||
      !is_inside(part.addr, part.length, reinterpret_cast<std::uint64_t>(region.addr), region.length)) {
    world.fail("a work request names local memory that its key does not allow");
  }
  return reinterpret_cast<std::byte*>(part.addr);
}

std::byte* remote_memory(const QueuePair& pair, std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                         unsigned access) {
  const Fabric& fabric = Fabric::get();
  bool is_allowed = false;
  if (const auto window = fabric.windows.find(key); window != fabric.windows.end()) {
    const Window& bound = *window->second;
    is_allowed = bound.pair == &pair && (bound.access & access) == access &&
                 is_inside(address, bytes, bound.address, bound.length);
  } else if (const auto found = fabric.regions.find(key); found != fabric.regions.end()) {
    const Region& region = *found->second;
    is_allowed = region.pd == pair.pd && (region.access & access) == access &&
                 is_inside(address, bytes, reinterpret_cast<std::uint64_t>(region.addr), region.length);
  }
  return is_allowed ? reinterpret_cast<std::byte*>(address) : nullptr;
}

}  // namespace framewire::sim
