// Inspecting the contents of a file in a program that does not have the file's ops.
#include "weft/serialization/saved_file.h"

#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/ops/custom_op.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::read_file;
using testing::says;
using testing::TemporaryFolder;
using testing::write_file;

std::shared_ptr<const OpSet> custom_ops() {
  return with_ops({elementwise_op("bump", {{"height", 1.0}}, [](const Attributes& a) {
    return [height = a.real("height")](auto x) { return height / (1 + x * x); };
  })});
}

// Saves a file in a program that has the op `bump`, and returns its path.
std::string saved(const TemporaryFolder& folder) {
  Graph g(custom_ops());
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Scope net(g, "net");
  const Variable w =
      net.variable("w", DType::f32, {4}, {.initializer = Initializer::constant(0.5)});
  g.alias("tied", w);
  define_function(g, "inner", {{"a", DType::f32, {"n", 4}}},
                  [](Graph&, const std::vector<Value>& in) {
                    return std::vector<Value>{apply_op("bump", {in[0]})};
                  });
  Value y;
  {
    const Graph::Frame frame(g, "layer", {"user.cc", 7}, "net");
    y = apply_op("bump", {mul(x, w)}, {{"height", 0.1}}, {"net.cc", 31});
  }
  const Value z = call(g, "inner", {y})[0];
  const Program train = Program("train").output("z", z).update(w, w * 0.5);
  Session session(g, {.threads = 1});
  session.initialise();
  const std::string path = folder / "own.weft";
  save_checkpoint(path, session, {train, Program("predict").output("y", y)});
  return path;
}

BOOST_AUTO_TEST_SUITE(saved_files)

BOOST_AUTO_TEST_CASE(everything_except_types_is_readable_without_the_ops) {
  const TemporaryFolder folder;
  const std::string path = saved(folder);
  BOOST_CHECK_EXCEPTION(load_checkpoint(path), FormatError,
                        says("this program does not know op 'bump' version 1; pass an OpSet that "
                             "contains it in LoadOptions::ops"));
  const SavedFile file = read_saved_file(path);
  BOOST_TEST(file.producer.starts_with("weft"));
  BOOST_TEST(file.unknown_ops == std::vector<std::string>{"bump version 1"},
             boost::test_tools::per_element());
  BOOST_TEST(file.inputs == std::vector<std::string>{"x: f32[batch, 4]"},
             boost::test_tools::per_element());
  BOOST_REQUIRE(file.variables.size() == 1u);
  BOOST_TEST(file.variables[0].name == "net.w");
  BOOST_TEST(file.variables[0].aliases.size() == 1u);
  BOOST_REQUIRE(file.programs.size() == 2u);
  BOOST_TEST(file.programs[0].name == "train");
  BOOST_TEST(file.programs[0].outputs.size() == 1u);
  BOOST_REQUIRE(file.programs[0].updates.size() == 1u);
  BOOST_TEST(file.programs[0].updates[0].starts_with("@net.w = %"));
  BOOST_TEST(file.programs[1].outputs[0] == "y = %1");
  BOOST_REQUIRE(file.nodes.size() >= 2u);
  BOOST_TEST(file.nodes[0].starts_with("%0 = mul(%x, @net.w)"), file.nodes[0]);
  BOOST_TEST(file.nodes[1].starts_with("%1 = bump(%0) {height = 0.1}  // net "), file.nodes[1]);
}

BOOST_AUTO_TEST_CASE(all_ops_are_known_with_the_op_set_used_for_saving) {
  const TemporaryFolder folder;
  const std::string path = saved(folder);
  BOOST_TEST(read_saved_file(path, custom_ops()).unknown_ops.empty());
  const Checkpoint loaded = load_checkpoint(path, {.ops = custom_ops()});
  BOOST_TEST(read_saved_file(path).nodes.size() + 1 + loaded.graph().variables().size() ==
             loaded.graph().node_count());
}

// The bits of values are also checked, so that tools without the ops detect damage as well.
BOOST_AUTO_TEST_CASE(flipped_bits_are_detected) {
  const TemporaryFolder folder;
  const std::string path = saved(folder);
  std::string bytes = read_file(path);
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at % 7) {
    const char old = bytes[at];
    bytes[at] = static_cast<char>(old ^ (1 << (at % 8)));
    write_file(path, bytes);
    BOOST_CHECK_EXCEPTION(read_saved_file(path), FormatError, says("at byte "));
    bytes[at] = old;
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
