// Operators that the backend tests of ONNX do not cover, compared with ONNX Runtime
// (tests/fixtures/onnx/make_operators.py).
#include <boost/test/unit_test.hpp>
#include <set>

#include "weft/graph/run/session.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/testing/close.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(onnx_operators)

BOOST_AUTO_TEST_CASE(results_agree_with_onnx_runtime) {
  const TensorMap tensors = read_npz(WEFT_FIXTURES "/onnx/operators.npz");
  std::set<std::string> cases;
  for (const auto& [name, tensor] : tensors) cases.insert(name.substr(0, name.find('.')));
  BOOST_TEST(cases.size() > 60);
  for (const std::string& name : cases) {
    BOOST_TEST_CONTEXT(name) {
      OnnxReadOptions options{.input_values = tensors};
      for (const auto& [tensor, value] : tensors)
        if (tensor.rfind(name + ".out_", 0) == 0) options.outputs.push_back(tensor);
      try {
        const OnnxModel model = read_onnx(WEFT_FIXTURES "/onnx/operators.onnx", options);
        const Program& program = model.checkpoint.program("predict");
        NamedTensors feeds;
        for (const Value& input : program.inputs()) {
          const std::string& input_name = input.node().attributes().text("name");
          feeds.emplace_back(input_name, tensors.at(input_name));
        }
        const Results results =
            Session(model.checkpoint.graph(), model.checkpoint.store()).run(program, feeds);
        for (const std::string& output : options.outputs) {
          BOOST_TEST_CONTEXT(output) {
            BOOST_TEST(testing::expect_close(results[output], tensors.at(output),
                                             {.absolute = 2e-6, .relative = 2e-5}));
          }
        }
      } catch (const std::exception& e) {
        BOOST_ERROR(e.what());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
