// Models in GGUF files: every architecture, encodings of matrices, and errors. tests/interop/gguf
// compares the same models with llama.cpp.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "gguf_samples.h"
#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/pretrained.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/gguf/blocks.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(gguf_models)
namespace {

using testing::check_error;
using testing::TemporaryFolder;

const std::vector<std::int32_t> kIds = {1, 40, 270, 7, 101, 33, 260, 99, 12, 215, 150, 64};

const GgufSample& sample(const std::string& name) {
  for (const GgufSample& s : gguf_samples())
    if (s.name == name) return s;
  throw std::out_of_range(name);
}

// Writes a decoder as a GGUF file with 8-bit matrices and reads it back.
std::unique_ptr<TrainedModel> through_gguf(const LanguageModel& model, const std::string& path) {
  const gguf::WriteReport report = save_gguf(path, model, gguf::OutType::q8_0);
  for (const std::string& note : report.notes) std::printf("%s\n", note.c_str());
  return load_any_model(path).model;
}

std::unique_ptr<LanguageModel> load(const std::string& path) {
  return language_model_of(gguf::read_model(path));
}

/// Returns the largest difference, relative to the largest number in `a`.
double difference(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE((a.sizes() == b.sizes()));
  double largest = 0, apart = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    largest = std::max(largest, std::abs(a.at(i)));
    apart = std::max(apart, std::abs(a.at(i) - b.at(i)));
  }
  return apart / largest;
}

BOOST_AUTO_TEST_CASE(every_architecture_keeps_the_logits_of_its_models) {
  const TemporaryFolder folder;
  for (const GgufSample& s : gguf_samples()) {
    BOOST_TEST_CONTEXT(s.name) {
      const auto model = gguf_model(s.config);
      const std::string path = folder / (s.name + ".gguf");
      const gguf::WriteReport report = model->save_gguf(path, gguf::OutType::f32);
      BOOST_TEST(report.architecture == s.architecture);
      BOOST_TEST(report.notes.empty());
      const auto read = load(path);
      // Norms with an offset are rounded once.
      BOOST_TEST(difference(gguf_logits(*model, kIds), gguf_logits(*read, kIds)) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_is_written_again_has_the_same_bytes) {
  const TemporaryFolder folder;
  for (const char* name : {"llama", "gemma3", "gpt-oss", "deepseek2", "falcon-two-norms", "phi3"}) {
    BOOST_TEST_CONTEXT(name) {
      const std::string first = folder / "a.gguf", second = folder / "b.gguf";
      gguf_model(sample(name).config)->save_gguf(first, gguf::OutType::f32);
      load(first)->save_gguf(second, gguf::OutType::f32);
      const GgufFile a = read_gguf(first), b = read_gguf(second);
      BOOST_REQUIRE(a.tensors.size() == b.tensors.size());
      for (std::size_t i = 0; i < a.tensors.size(); ++i) {
        BOOST_TEST(a.tensors[i].name == b.tensors[i].name);
        const bool norms = std::string(name) == "gemma3" && a.tensors[i].sizes.size() == 1;
        if (!norms)
          BOOST_TEST(std::memcmp(a.tensors[i].data.raw(), b.tensors[i].data.raw(),
                                 a.tensors[i].data.bytes()) == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(q8_0_and_q4_0_keep_their_bits_and_bf16_stays_mapped) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("llama").config);
  for (const char* type : {"q8_0", "q4_0", "bf16"}) {
    BOOST_TEST_CONTEXT(type) {
      const std::string first = folder / "a.gguf", second = folder / "b.gguf";
      model->save_gguf(first, parse_choice<gguf::OutType>(type));
      const LoadedModel read = load_any_model(first);
      BOOST_TEST(is_quantized(*read.model->graph));
      BOOST_TEST(read.notes.empty());
      save_gguf(second, *read.model);
      const GgufFile a = read_gguf(first), b = read_gguf(second);
      for (const GgufTensor& tensor : a.tensors) {
        const GgufTensor* again = b.find(tensor.name);
        BOOST_REQUIRE(again != nullptr);
        BOOST_TEST((again->type == tensor.type));
        BOOST_TEST(std::memcmp(tensor.data.raw(), again->data.raw(), tensor.data.bytes()) == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_example_of_the_page_keeps_a_model_up_to_the_rounding_of_8_bits) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("llama").config);
  const auto again = through_gguf(*model, folder / "a.gguf");
  const Tensor logits = gguf_logits(dynamic_cast<const LanguageModel&>(*again), kIds);
  BOOST_TEST(difference(gguf_logits(*model, kIds), logits) < 0.05);
}

BOOST_AUTO_TEST_CASE(quantised_weights_of_a_weft_model_are_written_without_rounding) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("llama").config);
  for (const WeightFormat format : {WeightFormat::q8_0, WeightFormat::int4, WeightFormat::bf16}) {
    BOOST_TEST_CONTEXT(weight_format_name(format)) {
      auto quantised = std::make_unique<LanguageModel>(*model);
      const QuantizedModel made =
          quantize(model->all_programs(), *model->store, {.weights = format});
      quantised->replace_programs(made.graph, made.programs);
      quantised->store = made.store;
      const std::string path = folder / "a.gguf";
      quantised->save_gguf(path);
      const auto read = load(path);
      BOOST_TEST(difference(gguf_logits(*quantised, kIds), gguf_logits(*read, kIds)) == 0);
    }
  }
  // int8 has another scale.
  auto quantised = std::make_unique<LanguageModel>(*model);
  const QuantizedModel made = quantize(model->all_programs(), *model->store, {});
  quantised->replace_programs(made.graph, made.programs);
  quantised->store = made.store;
  const gguf::WriteReport report = quantised->save_gguf(folder / "int8.gguf");
  BOOST_REQUIRE(report.notes.size() == 1U);
  BOOST_TEST(report.notes.front().find("int8 matrices were rounded to Q8_0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(f16_matrices_are_widened_and_the_notes_say_so) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("llama").config);
  model->save_gguf(folder / "a.gguf", gguf::OutType::f16);
  const LoadedModel read = load_any_model(folder / "a.gguf");
  BOOST_REQUIRE(read.notes.size() == 1U);
  BOOST_TEST(read.notes.front() == "23 tensors of type F16 were widened to f32");
}

BOOST_AUTO_TEST_CASE(matrices_whose_rows_are_no_whole_blocks_become_f16) {
  const TemporaryFolder folder;
  GptConfig config = sample("llama").config;
  config.inner = 100;
  const gguf::WriteReport report =
      gguf_model(config)->save_gguf(folder / "a.gguf", gguf::OutType::q8_0);
  BOOST_REQUIRE(report.notes.size() == 1U);
  BOOST_TEST(report.notes.front() ==
             "3 of 23 matrices were written as F16, because their rows are not a multiple of 32: "
             "blk.0.ffn_down.weight, blk.1.ffn_down.weight, blk.2.ffn_down.weight");
  BOOST_TEST((read_gguf(folder / "a.gguf").find("blk.0.ffn_down.weight")->type == GgmlType::f16));
}

BOOST_AUTO_TEST_CASE(training_can_start_from_gguf_files) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("llama").config);
  model->save_gguf(folder / "a.gguf", gguf::OutType::q8_0);
  const Pretrained wide = load_pretrained(folder / "a.gguf");
  BOOST_TEST(wide.quantized.empty());
  BOOST_TEST(wide.text.tokenizer.has_value());
  BOOST_TEST((wide.weights.at("transformer.h.0.attn.query.weight").dtype() == DType::f32));
  const Pretrained kept = load_pretrained(folder / "a.gguf", true);
  BOOST_TEST(kept.quantized.contains("transformer.h.0.attn.query.weight"));
}

BOOST_AUTO_TEST_CASE(windows_that_llama_cpp_ignores_are_noted) {
  const TemporaryFolder folder;
  GptConfig config = sample("llama").config;
  config.window = 4;
  const gguf::WriteReport report = gguf_model(config)->save_gguf(folder / "a.gguf");
  BOOST_REQUIRE(report.notes.size() == 1U);
  BOOST_TEST(report.notes.front() ==
             "llama files have no attention window: llama.cpp computes other results for texts of "
             "more than 4 tokens");
  BOOST_TEST(load(folder / "a.gguf")->config.window == 0);
}

BOOST_AUTO_TEST_CASE(models_that_no_architecture_represents_are_rejected_with_the_differences) {
  const TemporaryFolder folder;
  GptConfig config = sample("llama").config;
  config.attention_soft_cap = 20;
  check_error<ArgumentError>(
      [&] { gguf_model(config)->save_gguf(folder / "a.gguf"); },
      {"no GGUF architecture of llama.cpp can represent this model", "the nearest is llama",
       "attention_soft_cap is 20.0, but would be 0.0"});
  GptConfig phi = sample("phi2").config;
  phi.head_bias = false;
  check_error<ArgumentError>([&] { gguf_model(phi)->save_gguf(folder / "a.gguf"); },
                             {"the nearest is phi2", "the head must have biases"});
}

/// Writes a changed copy of a file and returns its path.
std::string changed(const TemporaryFolder& folder, const std::string& from,
                    const std::function<void(GgufMetadata&, std::vector<GgufTensor>&)>& change) {
  GgufFile file = read_gguf(from);
  change(file.metadata, file.tensors);
  const std::string path = folder / "changed.gguf";
  write_gguf(path, file.metadata, file.tensors);
  return path;
}

struct WrongValue {
  const char* sample;
  const char* key;
  GgufValue value;
  std::vector<std::string> parts;
};

BOOST_AUTO_TEST_CASE(errors_name_the_file_the_key_and_the_byte_offset) {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> layers = {4, 2, 4};
  const std::vector<WrongValue> cases = {
      {"llama",
       "general.architecture",
       "lama",
       {"changed.gguf\" at byte", "general.architecture", "is lama, which is not supported",
        "did you mean 'llama'?", "supported are qwen2, llama, mistral3"}},
      {"llama",
       "llama.attention.soft_cap",
       20.0F,
       {"at byte", "llama.attention.soft_cap", "is unknown, and might change the results",
        "--ignore-config-key llama.attention.soft_cap"}},
      {"llama", "llama.block_count", 1000000U, {"llama.block_count", "but the file has"}},
      {"llama", "llama.block_count", "three", {"llama.block_count"}},
      {"llama", "llama.attention.head_count", 0U, {"llama.attention.head_count", "positive"}},
      {"llama",
       "llama.attention.head_count",
       layers,
       {"llama.attention.head_count", "layers with different values are not supported"}},
      {"llama", "llama.attention.key_length", 15U, {"llama.attention.value_length"}},
      {"llama",
       "llama.rope.dimension_count",
       7U,
       {"llama.rope.dimension_count", "it must be even and at most the size of a head"}},
      {"llama",
       "llama.rope.scaling.type",
       "ntk",
       {"llama.rope.scaling.type", "supported are none, linear, yarn and longrope"}},
      {"llama",
       "llama.rope.scaling.type",
       "longrope",
       {"llama.rope.scaling.type", "the file lacks the tensors rope_factors_short"}},
      {"llama",
       "llama.rope.scaling.factor",
       0.5F,
       {"llama.rope.scaling.factor", "it must be at least 1"}},
      {"llama",
       "llama.attention.causal",
       false,
       {"llama.attention.causal", "has an unsupported value"}},
      {"llama", "llama.context_length", -5, {"llama.context_length is -5, but must be in [0"}},
      {"llama",
       "llama.attention.head_count_kv",
       -2,
       {"llama.attention.head_count_kv is -2, but must be in [0, 2^31)"}},
      {"llama", "llama.attention.layer_norm_rms_epsilon", -1.0F, {"layer_norm_eps"}},
      {"deepseek2",
       "deepseek2.expert_gating_func",
       3U,
       {"deepseek2.expert_gating_func", "it must be 1 (softmax) or 2 (sigmoid)"}},
      {"deepseek2",
       "deepseek2.expert_shared_count",
       std::int64_t{1} << 62,
       {"deepseek2.expert_shared_count", "must be in [0, 2^31)"}},
      {"deepseek2",
       "deepseek2.leading_dense_block_count",
       3U,
       {"deepseek2.leading_dense_block_count", "no layer has experts"}},
      {"llama4",
       "llama4.interleave_moe_layer_step",
       0U,
       {"llama4.interleave_moe_layer_step", "it must be in [1, block_count]"}},
      {"granite", "granite.logit_scale", 0.0F, {"granite.logit_scale", "it must be positive"}},
      {"gemma3",
       "gemma3.attention.sliding_window_pattern",
       std::vector<bool>{true, false},
       {"gemma3.attention.sliding_window_pattern", "it must have an element for every layer"}},
      {"qwen2moe", "qwen2moe.expert_used_count", 9U, {"experts_per_token"}},
      {"llama",
       "general.sampling.temp",
       NAN,
       {"changed.gguf: general.sampling: temperature must be positive, not nan"}},
      {"llama",
       "general.sampling.penalty_repeat",
       -1.0F,
       {"changed.gguf: general.sampling: repetition_penalty must be positive, not -1"}},
  };
  for (const WrongValue& wrong : cases) {
    BOOST_TEST_CONTEXT(wrong.key) {
      const std::string path = folder / wrong.sample;
      gguf_model(sample(wrong.sample).config)->save_gguf(path);
      const std::string bad =
          changed(folder, path, [&](GgufMetadata& m, auto&) { m.set(wrong.key, wrong.value); });
      check_error<Error>([&] { gguf::read_model(bad); }, wrong.parts);
    }
  }
}

BOOST_AUTO_TEST_CASE(more_layers_than_any_model_has_are_rejected) {
  const TemporaryFolder folder;
  gguf_model(sample("llama").config)->save_gguf(folder / "a.gguf");
  const std::string bad =
      changed(folder, folder / "a.gguf", [](GgufMetadata& m, std::vector<GgufTensor>& tensors) {
        m.set("llama.block_count", 5000U);
        for (int i = 0; i < 5000; ++i)
          tensors.push_back(encoded(std::to_string(i), Tensor::of<float>({1}, {1}), GgmlType::f32));
      });
  check_error<FormatError>([&] { gguf::read_model(bad); },
                           {"llama.block_count is 5000; the limit is 4096"});
}

BOOST_AUTO_TEST_CASE(matrices_with_one_row_may_be_vectors_of_any_type) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("qwen2moe").config);
  model->save_gguf(folder / "a.gguf", gguf::OutType::f32);
  for (const GgmlType type : {GgmlType::bf16, GgmlType::q8_0}) {
    BOOST_TEST_CONTEXT(ggml_type_name(type)) {
      std::size_t gates = 0;
      const std::string path =
          changed(folder, folder / "a.gguf", [&](GgufMetadata&, std::vector<GgufTensor>& tensors) {
            for (GgufTensor& tensor : tensors) {
              if (!tensor.name.ends_with("ffn_gate_inp_shexp.weight")) continue;
              BOOST_TEST_REQUIRE(tensor.sizes.size() == 1U);
              tensor = encoded(tensor.name, widened(tensor).reshape({1, tensor.sizes[0]}), type);
              tensor.sizes.erase(tensor.sizes.begin());
              ++gates;
            }
          });
      BOOST_TEST(gates == 3U);
      BOOST_TEST(difference(gguf_logits(*model, kIds), gguf_logits(*load(path), kIds)) < 0.01);
    }
  }
}

BOOST_AUTO_TEST_CASE(tensors_that_are_missing_unexpected_or_of_other_sizes_are_listed_together) {
  const TemporaryFolder folder;
  gguf_model(sample("llama").config)->save_gguf(folder / "a.gguf");
  const std::string bad =
      changed(folder, folder / "a.gguf", [](GgufMetadata&, std::vector<GgufTensor>& tensors) {
        for (GgufTensor& tensor : tensors) {
          if (tensor.name == "blk.1.attn_k.weight") tensor.name = "blk.1.attn_kk.weight";
          if (tensor.name == "blk.0.ffn_up.weight") std::swap(tensor.sizes[0], tensor.sizes[1]);
        }
      });
  check_error<FormatError>([&] { load(bad); },
                           {"changed.gguf", "missing: 'blk.1.attn_k.weight' [32, 64]",
                            "unexpected: 'blk.1.attn_kk.weight' F32[32, 64]",
                            "mismatch: 'blk.0.ffn_up.weight' F32[64, 96], but the model needs [96, "
                            "64]"});
  // Divisors of frequencies belong to the metadata.
  const std::string divisors =
      changed(folder, folder / "a.gguf", [](GgufMetadata&, std::vector<GgufTensor>& tensors) {
        tensors.push_back(
            encoded("rope_freqs.weight", Tensor::of<float>({3}, {1, 2, 3}), GgmlType::f32));
      });
  check_error<FormatError>([&] { gguf::read_model(divisors); },
                           {"rope_freqs.weight is [3], but 8 pairs of features are rotated"});
}

BOOST_AUTO_TEST_CASE(weights_that_are_not_finite_are_rejected) {
  const TemporaryFolder folder;
  const auto model = gguf_model(sample("llama").config);
  model->save_gguf(folder / "a.gguf");
  const std::string bad =
      changed(folder, folder / "a.gguf", [](GgufMetadata&, std::vector<GgufTensor>& tensors) {
        Tensor ones = Tensor::of<float>({64}, std::vector<float>(64, NAN));
        for (GgufTensor& tensor : tensors)
          if (tensor.name == "output_norm.weight")
            tensor = encoded(tensor.name, ones, GgmlType::f32);
      });
  check_error<DataError>([&] { load(bad); }, {"changed.gguf", "transformer.ln_f.weight", "nan"});
}

BOOST_AUTO_TEST_CASE(changed_bytes_of_a_header_cause_only_errors_of_weft) {
  const TemporaryFolder folder;
  for (const char* name : {"gemma3", "deepseek2"}) {
    gguf_model(sample(name).config)->save_gguf(folder / "a.gguf");
    const std::string bytes = read_whole_file(folder / "a.gguf");
    std::size_t accepted = 0;
    for (std::size_t at = 4; at < 4000; at += 11) {
      std::string bad = bytes.substr(0, 200'000);
      bad[at] = static_cast<char>(bad[at] + static_cast<char>(1 << (at % 8)));
      const std::string path = folder.write("bad.gguf", bad);
      try {
        gguf::read_model(path);
        ++accepted;
      } catch (const Error&) {
      }
    }
    BOOST_TEST(accepted < 364U);
  }
}

BOOST_AUTO_TEST_CASE(unknown_keys_can_be_ignored_by_name) {
  const TemporaryFolder folder;
  gguf_model(sample("llama").config)->save_gguf(folder / "a.gguf");
  const std::string path = changed(folder, folder / "a.gguf", [](GgufMetadata& m, auto&) {
    m.set("llama.attention.flavour", 3U);
  });
  BOOST_CHECK_NO_THROW(gguf::read_model({path, {"llama.attention.flavour"}}));
  check_error<ArgumentError>(
      [&] {
        gguf::read_model({path, {"llama.attention.flavor"}});
      },
      {"does not contain the key 'llama.attention.flavor'", "llama.attention.flavour"});
}

BOOST_AUTO_TEST_CASE(only_decoders_can_be_written) {
  const TemporaryFolder folder;
  struct Other final : ModelKind<Other> {
    static const ModelLayout& file_layout() {
      static const ModelLayout layout{.kind = "text classifier"};
      return layout;
    }
  };
  check_error<ArgumentError>([&] { save_gguf(folder / "a.gguf", Other()); },
                             {"the model is a text classifier"});
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
