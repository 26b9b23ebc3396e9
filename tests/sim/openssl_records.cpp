#include "tests/sim/openssl_records.hpp"

#include <cstring>
#include <utility>

namespace framewire::sim {

std::uint64_t weak_mac(std::uint64_t key, std::string_view text) noexcept {
  constexpr std::uint64_t fnv_prime = 0x100000001b3;  // as FNV-1a, eight bytes at a time
  std::uint64_t mac = key ^ (text.size() * fnv_prime);
  for (std::size_t i = 0; i < text.size(); i += sizeof mac) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    mac = (mac ^ word) * fnv_prime;
    mac ^= mac >> 29U;
  }
  return mac;
}

std::string as_bytes(std::uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

namespace {

std::string header(RecordType type, std::size_t body_bytes) {
  return {static_cast<char>(type), 3, 3, static_cast<char>(body_bytes >> 8U), static_cast<char>(body_bytes & 0xffU)};
}

}  // namespace

std::string plain_record(RecordType type, std::string_view body) {
  return header(type, body.size()).append(body);
}

std::size_t body_bytes_of(std::string_view header) noexcept {
  return std::size_t{static_cast<unsigned char>(header[3])} << 8U | static_cast<unsigned char>(header[4]);
}

void RecordSequence::next_key() noexcept {
  key_ = weak_mac(key_, "key update");
  number_ = 0;
}

std::string RecordSequence::proof_of(std::string_view inner) {
  const std::uint64_t mac = weak_mac(key_ + number_++, inner);
  return as_bytes(mac) + as_bytes(~mac);
}

std::string RecordSequence::seal(RecordType type, std::string_view plain) {
  std::string inner(plain);
  inner += static_cast<char>(type);
  return header(RecordType::data, inner.size() + proof_bytes) + inner + proof_of(inner);
}

std::optional<RecordSequence::Opened> RecordSequence::open(std::string body) {
  if (body.size() <= proof_bytes) {
    return std::nullopt;
  }
  const std::string proof = body.substr(body.size() - proof_bytes);
  body.resize(body.size() - proof_bytes);
  if (proof != proof_of(body)) {
    return std::nullopt;
  }
  const auto type = static_cast<RecordType>(body.back());
  body.pop_back();
  return Opened{.type = type, .plain = std::move(body)};
}

}  // namespace framewire::sim
