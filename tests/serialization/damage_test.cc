// Files that are damaged or in a foreign format, or that are truncated while they are in use.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/sigbus_handler.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/container.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::read_file;
using testing::says;
using testing::TemporaryFolder;
using testing::write_file;

Tensor all_zero(const VariableInfo& info) {
  return Tensor::zeros(info.type.dtype, info.type.shape.constant());
}

// Runs `read` in a child process, writes its stderr to the file `errors`, and returns its exit
// code.
template <class Read>
int exit_code_of(const std::string& errors, Read&& read) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(errors.c_str(), "w", stderr) == nullptr) ::_exit(99);
    install_sigbus_handler("test");
    read();
    ::_exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(damage)

BOOST_AUTO_TEST_CASE(errors_name_a_file_that_is_truncated_while_mapped) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft", errors = folder / "errors";
  Graph g;
  const Variable v = g.variable("w", DType::f32, {10'000});
  write_checkpoint(path, {Program("p").output("w", v.value())}, all_zero);
  const int code = exit_code_of(errors, [&] {
    const Checkpoint c = load_checkpoint(path);
    std::filesystem::resize_file(path, 4096);
    double sum = 0;
    for (const float x : c.tensors().at("w").span<float>()) sum += x;
    if (sum != 0) ::_exit(3);
  });
  BOOST_TEST(code == 1);
  const std::string message = read_file(errors);
  BOOST_TEST(
      message.starts_with("test: \"" + path + "\" became unreadable while in use (at byte "));
  BOOST_TEST(std::count(message.begin(), message.end(), '\n') == 1);
}

BOOST_AUTO_TEST_CASE(copied_tensors_survive_truncation_of_the_file) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  Graph g;
  const Variable v = g.variable("w", DType::f32, {10'000});
  write_checkpoint(path, {Program("p").output("w", v.value())}, all_zero);
  const int code = exit_code_of(folder / "errors", [&] {
    const Checkpoint c = load_checkpoint(path, {.mode = LoadOptions::Mode::copy});
    std::filesystem::resize_file(path, 4096);
    if (c.tensors().at("w").at(9'999) != 0) ::_exit(3);
  });
  BOOST_TEST(code == 0);
}

BOOST_AUTO_TEST_CASE(bools_other_than_zero_and_one_are_rejected) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  Graph g;
  const Variable v =
      g.variable("flags", DType::boolean, {3}, {.kind = VariableKind::buffer, .trainable = false});
  write_checkpoint(path, {Program("p").output("f", v.value())}, all_zero);
  const Record record = Container(path).data().front();
  std::string bytes = read_file(path);
  bytes[record.offset + 2] = 2;
  write_file(path, bytes);
  BOOST_CHECK_EXCEPTION(load_checkpoint(path), FormatError,
                        says("at byte " + std::to_string(record.offset + 2) +
                             ": variable 'flags' is bool, but this byte is neither 0 nor 1"));
}

BOOST_AUTO_TEST_CASE(source_paths_with_arbitrary_bytes_can_be_saved) {
  const TemporaryFolder folder;
  Graph g;
  const Value x = g.input("x", DType::f32, {2}, {"caf\xE9/net.cc", 7});
  const Value y = g.apply("neg", {x}, {}, SourceLocation{"caf\xE9/net.cc", 8}).output(0);
  write_checkpoint(folder / "m.weft", {Program("p").output("y", y)}, all_zero);
  const Checkpoint c = load_checkpoint(folder / "m.weft");
  const Value read = c.program("p").outputs().front().second;
  BOOST_TEST(c.graph().where(read.node()).find("caf\\xe9/net.cc:8") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(errors_display_names_that_are_not_valid_utf8) {
  const TemporaryFolder folder;
  Graph g;
  const Variable v = g.variable("w\xFF", DType::f32, {2});
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(folder / "m.weft", {Program("p").output("w", v.value())}, all_zero),
      ArgumentError, says("\"w\\xff\" is not valid UTF-8 (field 'name' of "));
  BOOST_TEST(folder.files() == 0u);
}

BOOST_AUTO_TEST_CASE(variables_can_be_listed_without_loading_the_graph) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  Graph g;
  const Variable v = g.variable("w", DType::f32, {2, 3});
  g.alias("tied", v);
  const Variable cache =
      g.variable("cache", DType::bf16, {"batch", 4}, {.kind = VariableKind::cache});
  write_checkpoint(path, {Program("p").output("w", v.value()).output("cache", cache.value())},
                   all_zero);
  const std::vector<SavedVariable> found = saved_variables(path);
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST(found[0].name == "w");
  BOOST_TEST(found[0].type == "f32[2, 3]");
  BOOST_TEST(found[0].aliases.size() == 1u);
  BOOST_TEST(found[1].type == "bf16[batch, 4]");
  BOOST_TEST((found[1].kind == VariableKind::cache));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
