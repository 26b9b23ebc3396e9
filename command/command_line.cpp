#include "command/command_line.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/manual.hpp"

namespace framewire {

namespace {

/// The headings of --help and the manual page.
constexpr const char* link_group = "Link";
constexpr const char* usual_group = "Options";

void add_words_of_every_program(CLI::App& app) {
  app.set_help_flag("-h,--help", "print this help, and end");
  app.set_version_flag("--version", app.get_name() + " " + FRAMEWIRE_VERSION, "print the version, and end");
}

/// An option that was given without its value, as in "--size=".
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_expected_max() == 0) {
      continue;
    }
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw Error::usage(option->get_name() + " is empty; give it a value, or see " + app.get_name() + " --help");
      }
    }
  }
}

bool is_address_in_figures(const std::string& text) {
  in6_addr room{};  // for either family
  return ::inet_pton(AF_INET, text.c_str(), &room) == 1 || ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

void refuse_what_cannot_be_encrypted(const CommonWords& words) {
  if (words.transport != "auto" && words.transport != "tcp") {
    throw Error::usage("--transport is " + quote(words.transport) +
                       "; with --encrypt, which goes over tcp alone, it takes auto or tcp");
  }
  if (words.is_insecure && words.key.empty()) {
    throw Error::usage(
        "--encrypt needs a key, and --insecure does without one; run 'framewire key' on one machine, import it on the "
        "other, and leave out --insecure");
  }
}

}  // namespace

void add_endpoint_options(CLI::App& app, CommonWords& words) {
  app.option_defaults()->group(link_group);
  app.add_option("--transport", words.transport, "the link (auto: the best one that works); local is shared memory")
      ->type_name("auto|local|rdma|tcp");
  app.add_option("--memory", words.memory, "where frames lie (auto)")->type_name("auto|host");
  app.add_option("--key", words.key, "the key file to authenticate with, always (see framewire key)")
      ->type_name("FILE");
  app.add_flag("--insecure", words.is_insecure, "beyond this machine without a key: anybody may connect, and listen");
  app.add_flag("--encrypt", words.encrypt,
               "the data inside TLS 1.3, too, which takes tcp; either end may ask for it, and both then do it");
  app.add_option("--timeout", words.timeout, "silence after which the peer counts as lost (5s; rdma: 1s)")
      ->type_name("TIME");
  app.add_option("--tos", words.type_of_service,
                 "the type of service of what this end sends, 0 to 255: four times the DSCP (the system's)")
      ->type_name("N");
  app.add_option("--rdma-address", words.rdma_address,
                 "rdma: the address of the listening end for data (the one that TCP has reached, else one it tells of)")
      ->type_name("ADDR");
  app.option_defaults()->group(usual_group);
}

void add_ring_options(CLI::App& app, CommonWords& words) {
  CLI::Option* const relaxed =
      app.add_flag("--relaxed-ordering", words.relaxed_ordering,
                   "rdma: payload may reach memory in any order, where the device can do that (the default)")
          ->group(link_group);
  app.add_flag("--no-relaxed-ordering", words.strict_ordering, "rdma: payload reaches memory in the order of its bytes")
      ->group(link_group)
      ->excludes(relaxed);
}

void add_spin_option(CLI::App& app, CommonWords& words) {
  app.add_flag("--spin", words.spins, "poll for what comes, with a processor of its own, and never sleep")
      ->group(link_group);
}

void add_run_options(CLI::App& app, CommonWords& words) {
  app.add_option("--frames", words.frames, "end after so many frames")->type_name("N");
  app.add_option("--duration", words.duration, "end after so long: 10, 2.5s, 3m; a sender counts from its first frame")
      ->type_name("TIME");
  app.add_option("--stats", words.stats, "write one JSON object with all counts at the end")->type_name("FILE");
  app.add_flag("--verbose", words.is_verbose, "say more");
}

void read_endpoint_words(const CommonWords& words, EndpointOptions& endpoint) {
  const auto kind = link_kind_from_name(words.transport);
  if (!kind && words.transport != "auto") {
    throw Error::usage("--transport is " + quote(words.transport) + "; it takes auto, local, rdma or tcp");
  }
  if (kind) {
    endpoint.allowed_links = {*kind};
    endpoint.transport_is_auto = false;
  }
  if (words.memory == "cuda") {
    throw Error::usage("--memory is 'cuda': this version keeps frames in host memory only; take auto or host");
  }
  if (words.memory != "auto" && words.memory != "host") {
    throw Error::usage("--memory is " + quote(words.memory) + "; it takes auto or host");
  }
  if (!words.key.empty()) {
    endpoint.key_file = words.key;
  }
  endpoint.insecure = words.is_insecure;
  endpoint.encrypt = words.encrypt;
  if (words.encrypt) {
    refuse_what_cannot_be_encrypted(words);
  }
  endpoint.relaxed_ordering = !words.strict_ordering;
  if (!words.type_of_service.empty()) {
    endpoint.type_of_service = static_cast<std::uint8_t>(parse_number(words.type_of_service, "--tos", 0, UINT8_MAX));
  }
  if (!words.rdma_address.empty() && !is_address_in_figures(words.rdma_address)) {
    throw Error::usage("--rdma-address is " + quote(words.rdma_address) +
                       "; it takes an IPv4 or IPv6 address of an RDMA device of the end that listens, without a port");
  }
  endpoint.rdma_address = words.rdma_address;
  if (!words.timeout.empty()) {
    endpoint.peer_timeout_ns = parse_duration_ns(words.timeout, "--timeout");
    endpoint.rdma_timeout_ns = endpoint.peer_timeout_ns;
  }
}

CommonOptions read_run_words(const CommonWords& words) {
  CommonOptions options;
  if (!words.frames.empty()) {
    options.max_frames = parse_number(words.frames, "--frames", 1, UINT64_MAX);
  }
  if (!words.duration.empty()) {
    options.max_duration_ns = parse_duration_ns(words.duration, "--duration");
  }
  if (!words.stats.empty()) {
    options.stats_file = words.stats;
  }
  options.is_verbose = words.is_verbose;
  return options;
}

void print_help(CLI::App& app, std::FILE* to) {
  add_words_of_every_program(app);
  std::fputs(help_text(read_manual(app)).c_str(), to);
}

bool parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  add_words_of_every_program(app);
  for (CLI::Option* option : app.get_options()) {
    option->disable_flag_override();  // --flag=no would be taken for --flag
  }
  if (argc > 1 && std::string_view(argv[1]) == "--write-manual") {
    const std::vector<std::string> words(argv + 2, argv + argc);
    std::fputs(written_manual(app, words).c_str(), stdout);
    return false;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text(read_manual(app)).c_str(), stdout);
    return false;
  } catch (const CLI::CallForVersion&) {
    std::printf("%s %s\n", app.get_name().c_str(), FRAMEWIRE_VERSION);
    return false;
  } catch (const CLI::ParseError& error) {
    throw Error::usage(std::string(error.what()) + "; " + app.get_name() + " --help shows what there is");
  }
  refuse_empty_values(app);
  return true;
}

void require_writable(const std::string& file, std::string_view what) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error::failed(std::string(what) + " is " + quote(file) + ", a directory; name a file in it");
  }
  const bool exists = ::access(file.c_str(), F_OK) == 0 || errno == ELOOP;
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  if (::access(exists ? file.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) != 0) {
    const int why = errno;
    throw Error::failed(std::string(what) + " is " + quote(file) + ", which cannot be written (" + errno_text(why) +
                        "); name a file in a folder that is yours");
  }
}

void require_another_file(const std::string& stats, const std::string& data) {
  std::error_code ignored;
  const auto place = [&](const std::string& name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, ignored), ignored);
  };
  if (std::filesystem::equivalent(stats, data, ignored) || place(stats) == place(data)) {
    throw Error::usage("--stats is " + quote(stats) + ", where the bytes stand; name another file");
  }
}

void write_stats_file(const std::string& file, const std::string& json) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << json << '\n';
  out.flush();
  if (!out) {
    throw Error::from_errno("write the statistics to " + quote(file), errno);
  }
}

}  // namespace framewire
