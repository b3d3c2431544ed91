// Damaged and hostile ONNX files: every file is either read or rejected with an error.
// WEFT_ONNX_MUTANTS is the number of damaged files (default 600), and WEFT_ONNX_FIRST the number of
// the first one: the number of a file determines its damage.
#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "weft/core/error.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/onnx/one_node.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/sanitizers.h"

namespace weft {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using testing::attribute;
using testing::check_error;
using testing::f32;
using testing::GraphBuilder;
using testing::i64;
using testing::read_model;

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t count) { return random() % count; }

constexpr std::int64_t kNumbers[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     7,
                                     16,
                                     255,
                                     65536,
                                     2147483647,
                                     -2147483648,
                                     4294967296,
                                     1099511627776,
                                     INT64_MAX,
                                     INT64_MIN};

// Damages the message: changes one field of a random message in it, or the elements of a list.
class Damage {
 public:
  Damage(Random& random, const std::vector<std::string>& words) : random_(random), words_(words) {}

  void apply(Message& root) {
    std::vector<Message*> messages;
    collect(root, messages);
    Message& message = *messages[below(random_, messages.size())];
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    // Sometimes sets a field that the file does not have.
    if (fields.empty() || below(random_, 8) == 0) {
      const auto* type = message.GetDescriptor();
      if (type->field_count() == 0) return;
      fields = {type->field(
          static_cast<int>(below(random_, static_cast<std::size_t>(type->field_count()))))};
    }
    const FieldDescriptor* field = fields[below(random_, fields.size())];
    field->is_repeated() ? change_list(message, field) : change(message, field);
  }

 private:
  void collect(Message& message, std::vector<Message*>& to) {
    to.push_back(&message);
    const auto* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        collect(*reflection->MutableMessage(&message, field), to);
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(message, field); ++i)
        collect(*reflection->MutableRepeatedMessage(&message, field, i), to);
    }
  }

  std::int64_t number() { return kNumbers[below(random_, std::size(kNumbers))]; }
  std::string word() { return words_[below(random_, words_.size())]; }

  std::string bytes(std::string old) {
    switch (below(random_, 4)) {
      case 0: return word();
      case 1: return old.substr(0, below(random_, old.size() + 1));
      case 2: return old + old;
      default:
        if (!old.empty()) old[below(random_, old.size())] = static_cast<char>(random_());
        return old;
    }
  }

  void change(Message& message, const FieldDescriptor* field) {
    const auto* r = message.GetReflection();
    if (below(random_, 6) == 0) return r->ClearField(&message, field);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r->SetInt32(
            &message, field,
            static_cast<std::int32_t>(below(random_, 2) == 0 ? number() : random_() % 24));
      case FieldDescriptor::CPPTYPE_INT64: return r->SetInt64(&message, field, number());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r->SetFloat(&message, field, static_cast<float>(number()));
      case FieldDescriptor::CPPTYPE_STRING:
        return r->SetString(&message, field, bytes(r->GetString(message, field)));
      case FieldDescriptor::CPPTYPE_ENUM:
        return r->SetEnumValue(&message, field, static_cast<int>(below(random_, 16)));
      case FieldDescriptor::CPPTYPE_MESSAGE: r->MutableMessage(&message, field); return;
      default: return;
    }
  }

  void change_list(Message& message, const FieldDescriptor* field) {
    const auto* r = message.GetReflection();
    const int size = r->FieldSize(message, field);
    const std::size_t kind = below(random_, 4);
    if (size > 1 && kind == 0) {
      r->SwapElements(&message, field,
                      static_cast<int>(below(random_, static_cast<std::size_t>(size))), 0);
      return;
    }
    if (size > 0 && kind == 1) {
      r->SwapElements(&message, field,
                      static_cast<int>(below(random_, static_cast<std::size_t>(size))), size - 1);
      r->RemoveLast(&message, field);
      return;
    }
    const int at = size > 0 ? static_cast<int>(below(random_, static_cast<std::size_t>(size))) : 0;
    const bool add = kind == 2 || size == 0;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        if (add) r->AddInt32(&message, field, 0);
        return r->SetRepeatedInt32(&message, field, at, static_cast<std::int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64:
        if (add) r->AddInt64(&message, field, 0);
        return r->SetRepeatedInt64(&message, field, at, number());
      case FieldDescriptor::CPPTYPE_FLOAT:
        if (add) r->AddFloat(&message, field, 0);
        return r->SetRepeatedFloat(&message, field, at, static_cast<float>(number()));
      case FieldDescriptor::CPPTYPE_STRING:
        if (add) r->AddString(&message, field, word());
        return r->SetRepeatedString(&message, field, at,
                                    bytes(r->GetRepeatedString(message, field, at)));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (add) {
          Message* copy = r->AddMessage(&message, field);
          if (size > 0) copy->CopyFrom(r->GetRepeatedMessage(message, field, at));
        } else {
          apply(*r->MutableRepeatedMessage(&message, field, at));
        }
        return;
      default: return;
    }
  }

  Random& random_;
  const std::vector<std::string>& words_;
};

void add_words(const onnx_proto::Graph& graph, std::vector<std::string>& words) {
  for (const auto& node : graph.node()) {
    words.push_back(node.op_type());
    words.insert(words.end(), node.input().begin(), node.input().end());
    words.insert(words.end(), node.output().begin(), node.output().end());
    for (const auto& a : node.attribute()) {
      words.push_back(a.name());
      add_words(a.g(), words);
    }
  }
}

// Models with all parts of the format: bodies, functions, shapes that are computed, sequences.
std::vector<std::string> seeds() {
  const GraphBuilder body = GraphBuilder()
                                .input("i", DType::i64, {})
                                .input("go", DType::boolean, {})
                                .input("h", DType::f32, {std::int64_t{2}})
                                .initializer("b", f32({2}, {1, 2}))
                                .node("Mul", {"h", "w"}, {"hw"})
                                .node("Add", {"hw", "b"}, {"next"})
                                .output("go")
                                .output("next")
                                .output("hw");
  const GraphBuilder branch = GraphBuilder().node("Neg", {"x"}, {"z"}).output("z");
  onnx_proto::Model model = onnx_model(
      GraphBuilder()
          .input("x", DType::f32, {"n", std::int64_t{2}})
          .input("c", DType::boolean, {})
          .initializer("w", f32({2}, {2, 3}))
          .initializer("h0", f32({2}, {1, 1}))
          .initializer("zero", i64({}, {0}))
          .initializer("sizes", i64({2}, {-1, 1}))
          .initializer("axes", i64({1}, {0}))
          .node("Shape", {"x"}, {"shape"})
          .node("Gather", {"shape", "zero"}, {"steps"})
          .node("Loop", {"steps", "", "h0"}, {"last", "all"}, {attribute("body", body.graph)})
          .node("If", {"c"}, {"y"},
                {attribute("then_branch", branch.graph), attribute("else_branch", branch.graph)})
          .node("Reshape", {"y", "sizes"}, {"column"})
          .node("SplitToSequence", {"w"}, {"parts"}, {attribute("axis", 0)})
          .node("ConcatFromSequence", {"parts"}, {"joined"}, {attribute("axis", 0)})
          .node("Twice", {"joined"}, {"doubled"}, {attribute("k", 2.0)}, "custom")
          .node("ConstantOfShape", {"shape"}, {"filled"}, {attribute("value", f32({1}, {3}))})
          .node("Unsqueeze", {"doubled", "axes"}, {"row"})
          .node("Concat", {"filled", "row"}, {"stacked"}, {attribute("axis", 0)})
          .output("last")
          .output("all")
          .output("column")
          .output("stacked"));
  auto& import = *model.add_opset_import();
  import.set_domain("custom");
  import.set_version(1);
  auto& function = *model.add_functions();
  function.set_name("Twice");
  function.set_domain("custom");
  function.add_input("x");
  function.add_output("y");
  function.add_attribute("k");
  onnx_proto::Attribute reference;
  reference.set_name("value_float");
  reference.set_type(onnx_proto::Attribute::FLOAT);
  reference.set_ref_attr_name("k");
  *function.mutable_node() = GraphBuilder()
                                 .node("Constant", {}, {"c"}, {reference})
                                 .node("Mul", {"x", "c"}, {"y"})
                                 .graph.node();
  function.add_opset_import()->set_version(17);
  *model.mutable_graph()->add_sparse_initializer()->mutable_values() =
      testing::tensor_message(f32({1}, {1}), "sparse");
  std::vector<std::string> seeds = {model.SerializeAsString()};

  // The backend tests and the models of other tests, if they are small.
  const char* folder = std::getenv("WEFT_ONNX_TESTS");
  const std::filesystem::path data =
      folder == nullptr ? "/usr/share/libonnx-testdata/data" : folder;
  for (const std::filesystem::path& root :
       {data / "node", data / "simple", std::filesystem::path(WEFT_FIXTURES "/onnx")}) {
    if (!std::filesystem::is_directory(root)) continue;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
      if (entry.path().extension() == ".onnx" && entry.file_size() < 20'000)
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) seeds.push_back(read_whole_file(path.string()));
  }
  return seeds;
}

std::int64_t peak_bytes() {
  if (testing::kSanitized) return 0;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

BOOST_AUTO_TEST_SUITE(onnx_hostile)

BOOST_AUTO_TEST_CASE(damaged_models_are_read_or_rejected) {
  const std::int64_t count = setting("WEFT_ONNX_MUTANTS", 600);
  const std::int64_t first = setting("WEFT_ONNX_FIRST", 0);
  const bool verbose = std::getenv("WEFT_ONNX_MUTANTS") != nullptr;
  const std::vector<std::string> originals = seeds();
  const testing::TemporaryFolder folder("onnx");
  std::int64_t rejected = 0, at_start = peak_bytes();
  constexpr std::int64_t kFound[] = {234989};  // models that were read wrongly by earlier versions
  for (std::int64_t n = 0; n < count + std::ssize(kFound); ++n) {
    const std::int64_t i = n < count ? first + n : kFound[n - count];
    Random random(static_cast<std::uint64_t>(i));
    // The first model has most parts.
    const std::string& original =
        originals[below(random, 3) == 0 ? 0 : below(random, originals.size())];
    std::string bytes = original;
    onnx_proto::Model model;
    if (below(random, 8) != 0 && model.ParseFromString(original)) {
      std::vector<std::string> words = {"", "x", std::string(1, '\0'), "\xff", "../x", "//", "1"};
      add_words(model.graph(), words);
      Damage damage(random, words);
      for (std::size_t k = 0; k < 1 + below(random, 3); ++k) damage.apply(model);
      bytes = model.SerializeAsString();
    } else {
      bytes[below(random, bytes.size())] = static_cast<char>(random());
    }
    const std::string path = folder.write("model.onnx", bytes);
    if (verbose) std::cerr << i << '\r' << std::flush;
    const auto begin = std::chrono::steady_clock::now();
    OnnxReadOptions options;
    options.max_memory = std::uint64_t{16} << 20;
    try {
      const OnnxModel read = read_onnx(path, options);
      BOOST_CHECK(!read.checkpoint.programs().empty());
    } catch (const FormatError&) {
      ++rejected;
    } catch (const IoError&) {  // of external data
      ++rejected;
    } catch (const std::exception& e) {
      BOOST_ERROR(fmt::format("model {}: {}", i, e.what()));
    }
    try {
      describe_onnx(path);
    } catch (const FormatError&) {
    }
    is_onnx_file(path);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (verbose && seconds > 0.5) std::cerr << fmt::format("model {}: {:.1f} s\n", i, seconds);
    const std::int64_t peak = peak_bytes();
    if (verbose && peak > at_start + (1 << 20)) {
      std::cerr << fmt::format("model {}: {} MiB more\n", i, (peak - at_start) >> 20);
    }
    BOOST_CHECK_MESSAGE(peak < at_start + (std::int64_t{128} << 20),
                        fmt::format("model {}: {} MiB", i, (peak - at_start) >> 20));
    at_start = std::max(at_start, peak);
  }
  BOOST_TEST(rejected > count / 4);
  if (verbose) std::cerr << fmt::format("{} of {} rejected\n", rejected, count);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
