// Runs the backend tests of ONNX, and prints one line per case:
//   onnx NAME ok | FAIL REASON | refused (REASON)
// WEFT_ONNX_TESTS names the folder that contains node/, simple/, pytorch-converted/ and
// pytorch-operator/ (default: the folder of Debian's libonnx-testdata; the test is skipped if it
// does not exist). WEFT_ONNX_CASES limits the run to cases whose names start with this text.
#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/onnx/tensors.h"
#include "weft/testing/close.h"
#include "weft_proto/onnx.pb.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// Adds the tensors of a file of test data, named like the inputs and outputs of a program: a
// sequence "x" consists of "x.0", "x.1" and so on, an empty optional of nothing.
void add_data(const std::string& bytes, const onnx_proto::TypeInfo& type, const std::string& name,
              NamedTensors& to) {
  if (type.has_optional_type() || type.has_sequence_type()) {
    const bool optional = type.has_optional_type();
    const auto& element =
        optional ? type.optional_type().elem_type() : type.sequence_type().elem_type();
    google::protobuf::UnknownFieldSet fields;  // of OptionalProto or SequenceProto
    if (!fields.ParseFromString(bytes)) throw FormatError("damaged test data");
    int count = 0;
    for (int i = 0; i < fields.field_count(); ++i) {
      if (fields.field(i).number() < 3 ||
          fields.field(i).type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
        continue;
      add_data(fields.field(i).length_delimited(), element,
               optional ? name : fmt::format("{}.{}", name, count++), to);
    }
    return;
  }
  onnx_proto::Tensor message;
  if (!message.ParseFromString(bytes)) throw FormatError("damaged test data");
  // NumPy has no bfloat16: the tests store the bits as uint16.
  if (type.tensor_type().elem_type() == onnx_proto::Tensor::BFLOAT16 &&
      message.data_type() == onnx_proto::Tensor::UINT16)
    message.set_data_type(onnx_proto::Tensor::BFLOAT16);
  to.emplace_back(name, onnx::TensorReader("").read(message, name));
}

NamedTensors read_data(const fs::path& folder, const char* kind,
                       const google::protobuf::RepeatedPtrField<onnx_proto::Value>& values) {
  NamedTensors tensors;
  for (int i = 0; i < values.size(); ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(path)) break;
    // A repeated output name is compared once.
    add_data(read_whole_file(path.string()), values[i].type(), values[i].name(), tensors);
  }
  return tensors;
}

// Throws an error that describes the first wrong output.
void compare(const Results& results, const NamedTensors& expected) {
  if (results.size() != expected.size()) {
    throw DataError(fmt::format("{} outputs instead of {}", results.size(), expected.size()));
  }
  for (const auto& [name, tensor] : expected) {
    const Tensor& actual = results[name];
    if (actual.dtype() != tensor.dtype() || actual.sizes() != tensor.sizes()) {
      throw DataError(fmt::format("output '{}' is {} instead of {}", name, actual.type_str(),
                                  tensor.type_str()));
    }
    // The tolerances of ONNX's own runner. Its test data truncates to bfloat16 instead of rounding.
    const testing::Tolerance tolerance{.absolute = 1e-7,
                                       .relative = 1e-3,
                                       .ulps = tensor.dtype() == DType::bf16 ? 1.0 : 0.0,
                                       .nan_is_close_to_nan = true};
    const auto outcome = testing::expect_close(actual, tensor, tolerance);
    if (!outcome) {
      throw DataError(
          fmt::format("output '{}' {}: {}", name, actual.type_str(), outcome.message()));
    }
  }
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string run_case(const fs::path& folder) {
  try {
    const std::string path = (folder / "model.onnx").string();
    onnx_proto::Model model;
    if (!model.ParseFromString(read_whole_file(path))) return "FAIL: damaged model";
    const fs::path data = folder / "test_data_set_0";
    const NamedTensors inputs = read_data(data, "input", model.graph().input());
    const NamedTensors outputs = read_data(data, "output", model.graph().output());

    OnnxReadOptions options;
    for (const auto& [name, tensor] : inputs) options.input_values[name] = tensor;
    const OnnxModel read = read_onnx(path, options);
    Session session(read.checkpoint.graph(), read.checkpoint.store());
    const Program& program = read.checkpoint.program("predict");
    NamedTensors feeds;
    for (const Value& input : program.inputs()) {
      const std::string& name = input.node().attributes().text("name");
      feeds.emplace_back(name, options.input_values.at(name));
    }
    compare(session.run(program, feeds), outputs);
    return "ok";
  } catch (const FormatError& e) {
    const std::string text = one_line(e.what());
    if (text.find("not supported") == std::string::npos) return fmt::format("FAIL {}", text);
    const std::size_t file = text.rfind("model.onnx");
    return fmt::format("refused ({})", file == std::string::npos ? text : text.substr(file + 11));
  } catch (const std::exception& e) {
    return fmt::format("FAIL {}", one_line(e.what()));
  }
}

// Runs the cases of one group. At least `least` of them must be ok.
void run_group(const std::string& group, int least) {
  const fs::path folder =
      fs::path(environment("WEFT_ONNX_TESTS", "/usr/share/libonnx-testdata/data")) / group;
  const std::string prefix = environment("WEFT_ONNX_CASES", "");
  if (!fs::is_directory(folder)) {
    std::cout << fmt::format("onnx {} skipped: no folder {}\n", group, folder.string());
    return;
  }
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().compare(0, prefix.size(), prefix) == 0 &&
        fs::exists(entry.path() / "model.onnx"))
      cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  std::map<std::string, int> counts;
  for (const fs::path& path : cases) {
    const std::string result = run_case(path), name = path.filename().string();
    std::cout << fmt::format("onnx {} {}\n", name, result);
    ++counts[result.substr(0, result.find(' '))];
    BOOST_CHECK_MESSAGE(result.compare(0, 4, "FAIL") != 0, "onnx " + name + " " + result);
  }
  std::cout << fmt::format("onnx group {}: {} ok, {} FAIL, {} refused of {}\n", group, counts["ok"],
                           counts["FAIL"], counts["refused"], cases.size());
  if (prefix.empty()) BOOST_CHECK_GE(counts["ok"], least);
}

BOOST_AUTO_TEST_SUITE(backend)

BOOST_AUTO_TEST_CASE(node) { run_group("node", 870); }
BOOST_AUTO_TEST_CASE(simple) { run_group("simple", 17); }
BOOST_AUTO_TEST_CASE(pytorch_converted) { run_group("pytorch-converted", 82); }
BOOST_AUTO_TEST_CASE(pytorch_operator) { run_group("pytorch-operator", 35); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
