// Operators that the backend tests of ONNX do not cover, compared with ONNX Runtime
// (tests/fixtures/onnx/make_operators.py).
#include <boost/test/unit_test.hpp>
#include <set>

#include "weft/autodiff/check_gradients.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/close.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(onnx_operators)

// The fixture and one of its cases.
class Operators {
 public:
  Operators() : tensors_(read_npz(WEFT_FIXTURES "/onnx/operators.npz")) {
    for (const auto& [name, tensor] : tensors_) cases_.insert(name.substr(0, name.find('.')));
  }
  const std::set<std::string>& cases() const { return cases_; }
  const Tensor& tensor(const std::string& name) const { return tensors_.at(name); }
  OnnxModel read(const std::string& name) const {
    OnnxReadOptions options{.input_values = tensors_};
    for (const auto& [tensor, value] : tensors_)
      if (tensor.rfind(name + ".out_", 0) == 0) options.outputs.push_back(tensor);
    return read_onnx(WEFT_FIXTURES "/onnx/operators.onnx", options);
  }
  NamedTensors feeds(const Program& program) const {
    NamedTensors feeds;
    for (const Value& input : program.inputs()) {
      const std::string& name = input.node().attributes().text("name");
      feeds.emplace_back(name, tensors_.at(name));
    }
    return feeds;
  }

 private:
  TensorMap tensors_;
  std::set<std::string> cases_;
};

BOOST_AUTO_TEST_CASE(results_agree_with_onnx_runtime) {
  const Operators operators;
  BOOST_TEST(operators.cases().size() > 60);
  for (const std::string& name : operators.cases()) {
    BOOST_TEST_CONTEXT(name) {
      const OnnxModel model = operators.read(name);
      const Program& program = model.checkpoint.program("predict");
      Session session(model.checkpoint.graph(), model.checkpoint.store());
      for (const auto& [output, value] : session.run(program, operators.feeds(program))) {
        BOOST_TEST_CONTEXT(output) {
          BOOST_TEST(testing::expect_close(value, operators.tensor(output),
                                           {.absolute = 2e-6, .relative = 2e-5}));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const Operators operators;
  for (const std::string& name : operators.cases()) {
    BOOST_TEST_CONTEXT(name) {
      const OnnxModel model = operators.read(name);
      const Program& program = model.checkpoint.program("predict");
      // The last output depends on more operands than the first one, for example on new keys.
      for (const Value& output :
           {program.outputs().front().second, program.outputs().back().second}) {
        if (!is_floating(output.dtype())) continue;
        std::vector<Value> used;
        for (const Value& input : Program("p").output("y", output).inputs())
          if (is_floating(input.dtype())) used.push_back(input);
        NamedTensors feeds = operators.feeds(Program("p").output("y", output));
        BOOST_TEST(check_gradients(output, used, {.feeds = feeds, .directions = 2}));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
