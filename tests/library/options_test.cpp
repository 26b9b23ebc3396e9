// Options, settings, and what is said of wrong ones.
#include <atomic>
#include <mutex>
#include <string>

#include "library/option_words.hpp"
#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

fw_result sender_with(OptionList options) {
  fw_sender* sender = nullptr;
  const fw_result result = fw_sender_create(SettingsOf(std::move(options)).get(), &sender);
  EXPECT_EQ(sender != nullptr, result == FW_OK);
  fw_sender_destroy(sender);
  return result;
}

fw_result stream_with(const char* name, OptionList options) {
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  EXPECT_EQ(fw_sender_create(nullptr, &sender), FW_OK);
  const fw_result result = fw_sender_add_stream(sender, name, SettingsOf(std::move(options)).get(), &stream);
  EXPECT_EQ(stream != nullptr, result == FW_OK);
  fw_sender_destroy(sender);
  return result;
}

fw_result receiver_with(const char* source, OptionList options) {
  fw_receiver* receiver = nullptr;
  const fw_result result = fw_receiver_create(source, SettingsOf(std::move(options)).get(), &receiver);
  EXPECT_EQ(receiver != nullptr, result == FW_OK);
  fw_receiver_destroy(receiver);
  return result;
}

}  // namespace

TEST(LibraryOptions, OfSendersAreChecked) {
  EXPECT_EQ(sender_with({{"transport", "tcp"}, {"timeout", "2s"}, {"tos", "8"}}), FW_OK) << fw_message();
  EXPECT_EQ(sender_with({{"colour", "red"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("there is no option 'colour'"));
  EXPECT_TRUE(says("transport"));
  EXPECT_EQ(sender_with({{"transport", "pigeon"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("'pigeon'"));
  EXPECT_EQ(sender_with({{"transport", ""}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("is empty"));
  EXPECT_EQ(sender_with({{"tos", "8"}, {"tos", "8"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("given twice"));
  EXPECT_EQ(sender_with({{"encrypt", "maybe"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("yes or no"));
  EXPECT_EQ(sender_with({{"to", "box"}, {"listen", "*"}}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(sender_with({{"memory", "gpu"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("option memory is 'gpu'"));
  EXPECT_EQ(sender_with({{"memory", "cuda"}}), FW_ERROR_UNSUPPORTED);
  EXPECT_TRUE(says("host memory"));
}

TEST(LibraryOptions, OfStreamsAreChecked) {
  EXPECT_EQ(stream_with("a-b_c.9", {{"delivery", "every"}, {"slots", "2"}, {"viewers", "1"}}), FW_OK) << fw_message();
  for (const char* const wrong : {"", "a/b", "a b", "é"}) {
    EXPECT_EQ(stream_with(wrong, {}), FW_ERROR_ARGUMENT) << wrong;
    EXPECT_TRUE(says("1 to 64 letters"));
  }
  EXPECT_EQ(stream_with(std::string(65, 'a').c_str(), {}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(stream_with(nullptr, {}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(stream_with("a", {{"slots", "0"}}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(stream_with("a", {{"slots", "64"}, {"viewers", "64"}}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(stream_with("a", {{"viewers", "-1"}}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(stream_with("a", {{"delivery", "some"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("latest or every"));
}

TEST(LibraryOptions, OfReceiversAreChecked) {
  EXPECT_EQ(receiver_with("localhost:1/camera", {{"read", "caller"}, {"reconnect", "no"}}), FW_OK) << fw_message();
  EXPECT_EQ(receiver_with("localhost:1", {{"read", "aloud"}}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("thread or caller"));
  EXPECT_EQ(receiver_with("localhost:1/", {}), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("no stream is named"));
  EXPECT_EQ(receiver_with("localhost:99999", {}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(receiver_with("*:1", {}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(receiver_with("localhost:1", {{"listen", "*"}}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(receiver_with("localhost:1", {{"retry", "soon"}}), FW_ERROR_ARGUMENT);
  EXPECT_EQ(receiver_with("localhost:1", {{"key", "/nowhere/at/all"}}), FW_ERROR_FAILED);
  EXPECT_TRUE(says("/nowhere/at/all"));
}

/// The core speaks of command lines, which these programs do not have.
TEST(LibraryOptions, MessagesNameThemWithoutDashes) {
  EXPECT_EQ(in_option_words("start it with a larger --viewers"), "start it with a larger option viewers");
  EXPECT_EQ(in_option_words("--memory is 'gpu' (--listen, --rdma-address)"),
            "option memory is 'gpu' (option listen, option rdma-address)");
  for (const char* const kept : {"", "--", "a --", "it runs without --messages", "--listening", "x--key", "--pull"}) {
    EXPECT_EQ(in_option_words(kept), kept);
  }
  // It knows all options that there are.
  sender_with({{"colour", "red"}});
  const std::string of_sender = fw_message();
  stream_with("a", {{"colour", "red"}});
  const std::string of_stream = fw_message();
  receiver_with("a", {{"colour", "red"}});
  for (const std::string& message : {of_sender, of_stream, std::string(fw_message())}) {
    std::string names = message.substr(message.find("it takes ") + 9) + ", ";
    for (std::size_t end = 0; (end = names.find(", ")) != std::string::npos; names.erase(0, end + 2)) {
      const std::string name = names.substr(0, end);
      EXPECT_EQ(in_option_words("--" + name), "option " + name);
    }
  }
}

TEST(LibraryOptions, StructuresAreChecked) {
  fw_sender* sender = nullptr;
  fw_settings settings{};
  EXPECT_EQ(fw_sender_create(&settings, &sender), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("sizeof(fw_settings)"));
  settings.struct_size = sizeof settings;
  settings.option_count = 1;
  EXPECT_EQ(fw_sender_create(&settings, &sender), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("options is NULL"));
  fw_option option{"tos", nullptr};
  settings.options = &option;
  EXPECT_EQ(fw_sender_create(&settings, &sender), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("option 0"));
  settings.option_count = SIZE_MAX;
  EXPECT_EQ(fw_sender_create(&settings, &sender), FW_ERROR_ARGUMENT);
  EXPECT_EQ(fw_sender_create(nullptr, nullptr), FW_ERROR_ARGUMENT);
  EXPECT_EQ(sender, nullptr);
}

TEST(LibraryOptions, TheLogGetsLines) {
  struct Lines {
    std::mutex mutex;
    std::vector<std::string> all;
  } lines;
  fw_option option{"listen", "127.0.0.1:0"};
  const auto log = [](void* user, std::int32_t level, const char* text) {
    auto& kept = *static_cast<Lines*>(user);
    const std::scoped_lock lock(kept.mutex);
    EXPECT_LE(level, FW_LOG_DETAIL);
    kept.all.emplace_back(text);
  };
  const fw_settings settings{sizeof settings, &option, 1, log, &lines};
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  ASSERT_EQ(fw_sender_create(&settings, &sender), FW_OK);
  ASSERT_EQ(fw_sender_add_stream(sender, "a", nullptr, &stream), FW_OK);
  ASSERT_EQ(fw_sender_start(sender), FW_OK);
  fw_sender_destroy(sender);
  ASSERT_FALSE(lines.all.empty());
  EXPECT_TRUE(lines.all.front().starts_with("listening on 127.0.0.1")) << lines.all.front();
}

/// Also where another thread is still in a call, which ends the receiver later.
TEST(LibraryOptions, TheLogGetsNoLineOnceItsHandleHasEnded) {
  std::atomic<bool> has_ended = false;
  const auto log = [](void* user, std::int32_t, const char* text) {
    EXPECT_FALSE(static_cast<std::atomic<bool>*>(user)->load()) << text;
  };
  for (int i = 0; i < 20; ++i) {
    SendingProgram sending;
    has_ended = false;
    const fw_settings settings{sizeof settings, nullptr, 0, log, &has_ended};
    fw_receiver* receiver = nullptr;
    ASSERT_EQ(fw_receiver_create(sending.address().c_str(), &settings, &receiver), FW_OK);
    const Waiting waiting([&] {
      fw_frame* frame = nullptr;
      EXPECT_EQ(fw_receiver_acquire(receiver, FW_FOR_EVER, &frame), FW_ERROR_STATE);
    });
    fw_receiver_destroy(receiver);
    has_ended = true;
  }
}

TEST(LibraryOptions, APortInUseIsAnError) {
  SendingProgram sending;
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  const std::string port = "127.0.0.1:" + std::to_string(sending.port);
  ASSERT_EQ(fw_sender_create(SettingsOf(OptionList{{"listen", port}}).get(), &sender), FW_OK);
  ASSERT_EQ(fw_sender_add_stream(sender, "a", nullptr, &stream), FW_OK);
  EXPECT_LT(fw_sender_start(sender), 0);
  EXPECT_TRUE(says(std::to_string(sending.port)));
  fw_sender_destroy(sender);
}

TEST(LibraryResults, HaveNames) {
  EXPECT_STREQ(fw_result_name(FW_OK), "FW_OK");
  EXPECT_STREQ(fw_result_name(FW_ERROR_INTERNAL), "FW_ERROR_INTERNAL");
  EXPECT_STREQ(fw_result_name(1000), "unknown result");
  EXPECT_STREQ(fw_version(), FRAMEWIRE_VERSION);
}

}  // namespace framewire::test
