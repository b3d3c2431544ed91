// Files with damaged graphs and correct checksums are either rejected or contain programs that can
// be planned and run.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "weft/core/error.h"
#include "weft/graph/ir/program.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/fuzz/attack/mutate.h"
#include "weft/tests/fuzz/run_programs.h"

namespace weft {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Returns the contents of a .weft file for every sample of every op. Every second operand is an
// input if it is f32; all other operands are variables.
std::vector<std::string> files(const testing::TemporaryFolder& folder) {
  std::vector<std::string> result;
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->samples == nullptr || op->has(Trait::leaf)) continue;
    for (const OpSample& sample : op->samples()) {
      Graph g;
      std::vector<Value> inputs;
      std::map<std::string, Tensor> values;
      for (const Tensor& t : sample.inputs) {
        if (!t.defined()) {
          inputs.emplace_back();
          continue;
        }
        const std::string name = "x" + std::to_string(inputs.size());
        Shape shape;
        for (const std::int64_t n : t.sizes()) shape.push_back(n);
        if (t.dtype() == DType::f32 && inputs.size() % 2 == 0) {
          inputs.push_back(g.input(name, ValueType{t.dtype(), shape}));
        } else {
          inputs.push_back(
              g.variable(name, ValueType{t.dtype(), shape}, {.kind = VariableKind::buffer})
                  .value());
          values[name] = t;
        }
      }
      try {
        Node& node = g.apply(*op, inputs, sample.attributes);
        Program program("p");
        for (int i = 0; i < node.output_count(); ++i)
          program.output("y" + std::to_string(i), node.output(i));
        const std::string path = folder.path("f" + std::to_string(result.size()));
        write_checkpoint(path, {program}, [&](const VariableInfo& v) { return values.at(v.name); });
        result.push_back(bytes_of(path));
      } catch (const Error&) {  // skip ops that need more than these operands
      }
    }
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile_programs)

BOOST_AUTO_TEST_CASE(a_damaged_graph_is_rejected_or_can_be_run) {
  const testing::TemporaryFolder folder("damaged");
  const std::vector<std::string> whole = files(folder);
  BOOST_REQUIRE(whole.size() > 100u);
  const char* rounds = std::getenv("WEFT_FUZZ_ROUNDS");
  const int count = rounds != nullptr ? std::atoi(rounds) : 1500;
  const char* first = std::getenv("WEFT_FUZZ_SEED");
  attack::Random random(first != nullptr ? std::strtoull(first, nullptr, 10) : 1);
  const std::string path = folder.path("damaged.weft");
  int loaded = 0;
  for (int i = 0; i < count; ++i) {
    // If the test crashes in a round, the file of that round remains on disk.
    const std::string& bytes = whole[attack::random_up_to(random, whole.size() - 1)];
    attack::repair_container(attack::mutated(bytes, false, random), path);
    try {
      const Checkpoint checkpoint = load_checkpoint(path, {.verify = true});
      ++loaded;
      fuzz::run_programs(checkpoint);
    } catch (const FormatError&) {  // expected for a malformed file
    } catch (const std::exception& e) {
      BOOST_ERROR("round " << i << ": " << e.what());
    }
  }
  BOOST_TEST(loaded > count / 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
