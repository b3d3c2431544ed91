// Reading files and pipes, parsing JSON, and excerpts in messages.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/sanitizers.h"

namespace weft {
namespace {

using testing::says;
using testing::TemporaryFolder;
using testing::write_file;
using namespace std::chrono_literals;

}  // namespace

BOOST_AUTO_TEST_SUITE(reading)

BOOST_AUTO_TEST_CASE(a_file_is_read_completely) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 4096u, 3u << 20}) {
    std::string bytes(size, 'x');
    if (size > 0) bytes.back() = '\0';
    write_file(folder / "f", bytes);
    BOOST_TEST((read_whole_file(folder / "f") == bytes));
  }
  // This file reports a size of 0.
  BOOST_TEST(!read_whole_file("/proc/self/status").empty());
}

BOOST_AUTO_TEST_CASE(the_first_bytes_of_a_file_are_read_without_waiting) {
  const TemporaryFolder folder;
  write_file(folder / "f", "four");
  BOOST_TEST(first_bytes(folder / "f", 3) == "fou");
  BOOST_TEST(first_bytes(folder / "f", 9) == "four");
  BOOST_TEST(first_bytes(folder / "none", 9) == "");
  BOOST_TEST(first_bytes(folder / ".", 9) == "");
  BOOST_TEST_REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  BOOST_TEST(first_bytes(folder / "pipe", 9) == "");
  // Address 0 of this process is not mapped.
  BOOST_CHECK_EXCEPTION(first_bytes("/proc/self/mem", 9), IoError,
                        says("cannot read /proc/self/mem: Input/output error"));
}

BOOST_AUTO_TEST_CASE(endless_and_too_large_inputs_are_errors) {
  BOOST_CHECK_EXCEPTION(read_whole_file("/dev/zero"), IoError, says("it is a device"));
  BOOST_CHECK_EXCEPTION(read_whole_file("/tmp"), IoError, says("Is a directory"));
  BOOST_CHECK_EXCEPTION(read_whole_file("/nowhere/f"), IoError, says("/nowhere/f: No such file"));
  const TemporaryFolder folder;
  write_file(folder / "long", std::string(101, 'x'));
  BOOST_CHECK_EXCEPTION(read_whole_file(folder / "long", {.max_bytes = 100}), IoError,
                        says("more than 100 bytes"));
  // A sparse file takes no disk space, but reading it would take all memory.
  write_file(folder / "sparse", "x");
  std::filesystem::resize_file(folder / "sparse", std::uintmax_t{1} << 40);
  BOOST_CHECK_EXCEPTION(read_whole_file(folder / "sparse"), IoError, says("more than 4294967296"));
}

BOOST_AUTO_TEST_CASE(unreadable_files_and_insufficient_memory_are_errors) {
  // Address 0 of this process is not mapped.
  BOOST_CHECK_EXCEPTION(read_whole_file("/proc/self/mem"), IoError, says("Input/output error"));
  if (testing::kSanitized) return;  // sanitizers need a large address space
  const TemporaryFolder folder;
  write_file(folder / "large", "x");
  std::filesystem::resize_file(folder / "large", std::uintmax_t{3} << 30);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      read_whole_file(folder / "large");
    } catch (const IoError& e) {
      ::_exit(std::string_view(e.what()).find("out of memory") == std::string_view::npos ? 2 : 7);
    }
    ::_exit(1);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 7));
}

BOOST_AUTO_TEST_CASE(pipes_are_read_until_they_are_closed_or_time_out) {
  const TemporaryFolder folder;
  const std::string path = folder / "fifo";
  BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  BOOST_CHECK_EXCEPTION(read_whole_file(path, {.patience = 50ms}), IoError,
                        says("no program writes to this pipe"));
  {
    std::jthread writer([&] {
      std::ofstream out(path);
      out << "one ";
      out.flush();
      std::this_thread::sleep_for(30ms);
      out << "two";
    });
    BOOST_TEST(read_whole_file(path) == "one two");
  }
  {
    std::jthread writer([&] {
      std::ofstream out(path);
      const std::string block(1000, 'x');
      ::signal(SIGPIPE, SIG_IGN);
      for (int i = 0; i < 10'000 && out; ++i) out << block << std::flush;
    });
    BOOST_CHECK_EXCEPTION(read_whole_file(path, {.max_bytes = 100'000}), IoError,
                          says("more than 100000 bytes"));
  }
  const int silent = ::open(path.c_str(), O_RDWR);  // a writer that does not wait for a reader
  BOOST_CHECK_EXCEPTION(read_whole_file(path, {.patience = 100ms}), IoError,
                        says("no data has arrived through this pipe"));
  ::close(silent);
}

BOOST_AUTO_TEST_CASE(deeply_nested_or_too_long_json_is_an_error) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  BOOST_CHECK_EXCEPTION(parse_json(deep, "config.json"), FormatError,
                        says("config.json cannot be read as JSON: it is nested more than 64"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  BOOST_CHECK_EXCEPTION(parse_json(objects, "x"), FormatError, says("nested more than 64"));
  BOOST_CHECK_EXCEPTION(parse_json(std::string(101, ' '), "x", {.max_bytes = 100}), FormatError,
                        says("x has 101 bytes; the limit is 100"));
  BOOST_TEST(parse_json("[[[1]]]", "x", {.max_depth = 3}).dump() == "[[[1]]]");
}

BOOST_AUTO_TEST_CASE(duplicate_json_keys_are_an_error) {
  BOOST_CHECK_EXCEPTION(parse_json(R"({"a": 1, "b": {"c": 1, "c": 2}})", "config.json"),
                        FormatError, says("the key 'c' occurs twice"));
  BOOST_TEST(parse_json(R"({"a": {"c": 1}, "b": {"c": 2}})", "x").size() == 2u);
}

BOOST_AUTO_TEST_CASE(json_is_parsed_exactly_and_errors_name_line_and_column) {
  const std::string text = R"({"a":[1,-2,2.5,true,null,"\u00e9"],"b":{},"c":[]})";
  BOOST_TEST((parse_json(text, "x") == nlohmann::json::parse(text)));
  BOOST_TEST(parse_json("\xEF\xBB\xBF[1]", "x").size() == 1u);
  BOOST_CHECK_EXCEPTION(parse_json("{\n  \"a\": x}", "f.json"), FormatError,
                        says("f.json is not valid JSON at line 2, column 8"));
  BOOST_CHECK_EXCEPTION(parse_json("", "f.json"), FormatError, says("f.json is not valid JSON"));
  BOOST_CHECK_EXCEPTION(parse_json("[1e999]", "x"), FormatError, says("x is not valid JSON"));
  BOOST_CHECK_EXCEPTION(parse_json_object("[1]", "x"), FormatError,
                        says("x is not a JSON object but [1]"));
  try {
    parse_json("[\"" + std::string(1 << 20, 'x'), "x");
    BOOST_ERROR("no exception");
  } catch (const FormatError& e) {
    BOOST_TEST(std::string_view(e.what()).size() < 400u);
  }
}

BOOST_AUTO_TEST_CASE(excerpts_are_short_and_contain_no_control_characters_or_invalid_utf8) {
  BOOST_TEST(excerpt("caf\xC3\xA9") == "caf\xC3\xA9");
  BOOST_TEST(excerpt("a\nb\xFF") == "a\\x0ab\\xff");
  BOOST_TEST(excerpt(std::string(200, 'x'), 10) == "xxxxxxxxxx... (200 bytes)");
  BOOST_TEST(as_utf8("\xED\xA0\x80\xF4\x90\x80\x80\xC0\x80") ==
             "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc0\\x80");
  BOOST_TEST(as_utf8("line\n\xF0\x9F\x98\x80") == "line\n\xF0\x9F\x98\x80");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
