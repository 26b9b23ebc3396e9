// ssh://[USER@]HOST[:PORT]/SOURCE[?OPTIONS]: what it means, and what is refused.
#include "viewer/ssh_source.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "viewer/source.hpp"

namespace framewire {
namespace {

using OptionWords = std::vector<std::string>;

LocalSource ssh_source(const std::string& rest) {
  return parse_ssh_source("ssh://" + rest, "HOST");
}

std::string refusal_of(const std::string& rest) {
  try {
    ssh_source(rest);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "";
}

TEST(SshSource, NamesAHostAndASource) {
  EXPECT_EQ(ssh_source("box/gl:orbit"), (LocalSource{.source = "gl:orbit", .host = SshHost{.name = "box"}}));
  EXPECT_EQ(ssh_source("me@box:2222/film.mkv"),
            (LocalSource{.source = "film.mkv", .host = SshHost{.name = "me@box", .port = std::uint16_t{2222}}}));
  EXPECT_EQ(ssh_source("box//films/a.mkv").source, "/films/a.mkv");
  EXPECT_EQ(ssh_source("box/films/a.mkv").source, "films/a.mkv");
  EXPECT_EQ(ssh_source("box/v4l2:/dev/video0").source, "v4l2:/dev/video0");
  EXPECT_EQ(ssh_source("box/rtsp://camera:554/live").source, "rtsp://camera:554/live");
}

TEST(SshSource, TakesIpv6AddressesInBrackets) {
  EXPECT_EQ(ssh_source("[::1]/pattern").host, (SshHost{.name = "::1"}));
  EXPECT_EQ(ssh_source("me@[fe80::1%25eth0]:22/pattern").host,
            (SshHost{.name = "me@fe80::1%eth0", .port = std::uint16_t{22}}));
  for (const char* bad : {"[::1/pattern", "[::1]x/pattern", "::1/pattern", "[]/pattern", "[::1]22/pattern"}) {
    EXPECT_NE(refusal_of(bad), "") << bad;
  }
}

TEST(SshSource, IsDecoded) {
  EXPECT_EQ(ssh_source("box/-a%20b%25.mkv").source, "-a b%.mkv");
  EXPECT_EQ(ssh_source("box/it's $HOME;`x`|&.mkv").source, "it's $HOME;`x`|&.mkv");
  EXPECT_EQ(ssh_source("box/why%3f.mkv").source, "why?.mkv");
  EXPECT_EQ(ssh_source("a%40b@box/pattern").host->name, "a@b@box");
  for (const char* bad : {"box/a%", "box/a%2", "box/a%zz", "box/a%+1", "box/a%00", "box/a%0a", "box/a\nb"}) {
    EXPECT_NE(refusal_of(bad), "") << bad;
  }
}

TEST(SshSource, HasOptionsOfItsSender) {
  EXPECT_EQ(ssh_source("box/gl:orbit?size=1280x720&fps=30&pix_fmt=nv12&loop").options,
            (OptionWords{"--size=1280x720", "--fps=30", "--pix-fmt=nv12", "--loop"}));
  EXPECT_EQ(ssh_source("box/a?input-option=rtsp_transport%3Dtcp&").options,
            (OptionWords{"--input-option=rtsp_transport=tcp"}));
  EXPECT_EQ(ssh_source("box/a?input-option=key%3DAAA%3D").options, (OptionWords{"--input-option=key=AAA="}));
  EXPECT_EQ(ssh_source("box/a?").options, OptionWords{});
}

TEST(SshSource, RefusesOptionsThatAreNotAboutTheSource) {
  EXPECT_NE(refusal_of("box/a?colour=red").find("it has no option 'colour'; a source takes --size, "),
            std::string::npos);
  for (const char* bad :
       {"listen=x", "to=x", "key=x", "stats=x", "-=x", "f=v4l2", "loop=1", "size", "size=", "fps&loop", "=x", "help"}) {
    EXPECT_NE(refusal_of(std::string("box/a?") + bad), "") << bad;
  }
}

TEST(SshSource, RefusesWhatSshWouldNotTake) {
  for (const char* bad :
       {"",         "/",      "/a",        "box",    "box/",       "box?a",   "box/?loop",   "-oProxyCommand=x/a",
        "me@/a",    "@box/a", "-me@box/a", "a b/a",  "box:/a",     "box:0/a", "box:65536/a", "box:22x/a",
        "box:-1/a", "%/a",    "box/-",     "$(x)/a", "me;x@box/a", "a%60b/a", "box%22/a"}) {
    EXPECT_NE(refusal_of(bad), "") << bad;
  }
  EXPECT_NE(refusal_of("me:secret@box/a").find("ssh takes no password there"), std::string::npos);
}

TEST(SshSource, IsCalledAsItWasWritten) {
  EXPECT_EQ(name_of(ssh_source("me@[::1]:22/a%20b?loop")), "ssh://me@[::1]:22/a b");
  EXPECT_EQ(name_of(ssh_source("box//a")), "ssh://box//a");
  EXPECT_EQ(name_of({.source = "film.mkv"}), "film.mkv");
}

TEST(SshSource, IsAmongOtherSources) {
  SubscriberOptions session;
  session.endpoint.key_file = "key";
  session.endpoint.insecure = true;
  const ViewedSource source = parse_source("ssh://box/gl:orbit?fps=30", session, "HOST");
  EXPECT_EQ(source.peer_text, "ssh://box/gl:orbit");
  ASSERT_TRUE(source.rendezvous && source.local && source.subscriber.finder);
  EXPECT_FALSE(source.subscriber.endpoint.dial || source.subscriber.endpoint.listen);
  EXPECT_FALSE(source.subscriber.endpoint.key_file || source.subscriber.endpoint.insecure);
  ASSERT_TRUE(source.subscriber.endpoint.one_time_key);
  const ViewedSource other = parse_source("ssh://box/gl:orbit?fps=30", session, "HOST");
  EXPECT_FALSE(std::ranges::equal(source.subscriber.endpoint.one_time_key->bytes(),
                                  other.subscriber.endpoint.one_time_key->bytes()));
  EXPECT_EQ(source.local, other.local);
}

TEST(SshSource, WaitsForItsSender) {
  const ViewedSource source = parse_source("ssh://me@box/gl:orbit", {}, "HOST");
  try {
    source.subscriber.finder->find({});
    FAIL() << "nobody has said where the sender is";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::lost_peer);
    EXPECT_EQ(error.what(), "waiting for " + source.subscriber.finder->whom);
  }
}

TEST(SshSource, IsOfNoUseAsALocalOne) {
  EXPECT_THROW(check_local_source("ssh://box/gl:orbit", "--layer"), Error);
}

}  // namespace
}  // namespace framewire
