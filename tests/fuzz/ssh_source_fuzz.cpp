// ssh://[USER@]HOST[:PORT]/SOURCE[?OPTIONS]. Nothing is started.
//
// Input: the text after ssh://.
#include "viewer/ssh_source.hpp"

#include "ssh/ssh_command.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {
namespace {

void check_source(const std::string& text) {
  succeeds([&] {
    const LocalSource source = parse_ssh_source(text, "HOST");
    require(source.host && is_ssh_host(source.host->name), "ssh takes its host");
    require(!source.source.empty() && source.source != "-", "it names a source");
    require_printable(name_of(source));
    check_sender_options(source.options, "HOST");
    const std::vector<std::string> words =
        ssh_arguments({.port = source.host->port, .remote_program = "send"}, source.host->name, "--flag");
    require(words.size() > 3 && words[words.size() - 3] == "--", "ssh takes its host for no option");
  });
}

}  // namespace

std::vector<std::string> seeds() {
  return {"box/gl:orbit", "me@box:2222//a%20b.mkv?size=64x36&loop", "[fe80::1%25eth0]:22/-a?fps=30&pix_fmt=nv12",
          "a%40b@box/rtsp://camera/live%3Fx"};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  framewire::fuzz::check_source("ssh://" + std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
