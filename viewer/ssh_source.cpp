#include "viewer/ssh_source.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "base/error.hpp"
#include "base/text.hpp"
#include "ssh/ssh_command.hpp"

namespace framewire {

namespace {

constexpr std::string_view ssh_scheme = "ssh://";

/// A part of the URL that is being read. Its errors name the whole URL.
class SshUrl {
 public:
  SshUrl(const std::string& text, std::string_view what) : text_(text), what_(what) {}

  [[nodiscard]] Error error(const std::string& why) const {
    return Error::usage(std::string(what_) + " is " + quote(text_) + ": " + why);
  }

  /// With %XX replaced.
  [[nodiscard]] std::string decoded(std::string_view part) const {
    std::string plain;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '%') {
        plain += part[i];
        continue;
      }
      std::uint8_t byte = 0;
      const std::string_view digits = part.substr(i + 1, 2);
      const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (fault != std::errc{} || digits.size() != 2 || end != digits.data() + 2) {
        throw error("two hexadecimal digits follow each %; write %25 for the character itself");
      }
      plain += static_cast<char>(byte);
      i += 2;
    }
    if (std::ranges::any_of(plain, [](unsigned char letter) { return std::iscntrl(letter) != 0; })) {
      throw error("it has a control character");
    }
    return plain;
  }

 private:
  const std::string& text_;
  std::string_view what_;
};

/// "[USER@]HOST[:PORT]".
SshHost read_ssh_host(std::string_view authority, const SshUrl& url) {
  SshHost host;
  const std::size_t at = authority.rfind('@');
  const std::string_view user = at == std::string_view::npos ? std::string_view() : authority.substr(0, at + 1);
  std::string_view name = authority.substr(user.size());
  if (user.find(':') != std::string_view::npos) {
    throw url.error("ssh takes no password there; it asks for one, or use a key");
  }
  const std::size_t close = name.starts_with('[') ? name.find(']') : std::string_view::npos;
  if (name.starts_with('[') && close == std::string_view::npos) {
    throw url.error("the bracket of its host is not closed");
  }
  const std::size_t colon = name.find(':', close == std::string_view::npos ? 0 : close);
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (fault != std::errc{} || end != digits.data() + digits.size() || port == 0) {
      throw url.error("ssh's port is a number from 1 to 65535; an IPv6 address needs brackets");
    }
    host.port = port;
    name = name.substr(0, colon);
  }
  if (close != std::string_view::npos) {
    if (close + 1 != name.size()) {
      throw url.error("only a port may follow the brackets of its host");
    }
    name = name.substr(1, close - 1);
  }
  host.name = url.decoded(user) + url.decoded(name);
  if (name.empty() || !is_ssh_host(host.name)) {
    throw url.error("ssh would not take its host; write ssh://HOST/SOURCE, as in ssh://box/gl:orbit");
  }
  return host;
}

/// "size=64x36&loop" as words of framewire-send's command line.
std::vector<std::string> read_ssh_options(std::string_view query, const SshUrl& url) {
  std::vector<std::string> words;
  while (!query.empty()) {
    const std::string_view option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), option.size() + 1));
    const std::size_t equals = option.find('=');
    if (option.empty()) {
      continue;  // "?a&&b"
    }
    std::string name = url.decoded(option.substr(0, equals));
    std::ranges::replace(name, '_', '-');
    words.push_back("--" + name);
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string value = url.decoded(option.substr(equals + 1));
    if (value.empty()) {
      throw url.error("its option " + quote(name) + " has no value");
    }
    words.back() += "=" + value;
  }
  return words;
}

}  // namespace

bool is_ssh_source(std::string_view text) noexcept {
  return text.starts_with(ssh_scheme);
}

LocalSource parse_ssh_source(const std::string& text, std::string_view what) {
  const SshUrl url(text, what);
  const std::string_view rest = std::string_view(text).substr(ssh_scheme.size());
  const std::size_t slash = rest.find('/');
  const std::size_t mark = rest.find('?');
  LocalSource source{.host = read_ssh_host(rest.substr(0, std::min(slash, mark)), url)};
  if (slash < mark) {
    source.source = url.decoded(rest.substr(slash + 1, mark == std::string_view::npos ? mark : mark - slash - 1));
  }
  if (source.source.empty()) {
    throw url.error("it names no source; write it as framewire send takes it, as in ssh://box/gl:orbit");
  }
  check_local_source(source.source, what);
  if (mark != std::string_view::npos) {
    source.options = read_ssh_options(rest.substr(mark + 1), url);
    for (const std::string& word : source.options) {
      if (!is_sender_option(word)) {
        throw url.error("it has no option " + quote(word.substr(2, word.find('=') - 2)) + "; a source takes " +
                        sender_option_names());
      }
    }
    check_sender_options(source.options, what);
    // A flag that is given a value was refused; a value that is missing would swallow the next word.
    for (const std::string& word : source.options) {
      if (word.find('=') == std::string::npos && takes_value(word)) {
        throw url.error("its option " + quote(word.substr(2)) + " has no value");
      }
    }
  }
  return source;
}

std::string name_of(const LocalSource& source) {
  if (!source.host) {
    return source.source;
  }
  const SshHost& host = *source.host;
  const std::size_t name = host.name.rfind('@') + 1;  // 0 without a user
  const bool is_ipv6 = host.name.find(':', name) != std::string::npos;
  return printable(std::string(ssh_scheme) + host.name.substr(0, name) + (is_ipv6 ? "[" : "") + host.name.substr(name) +
                   (is_ipv6 ? "]" : "") + (host.port ? ":" + std::to_string(*host.port) : "") + "/" + source.source);
}

}  // namespace framewire
