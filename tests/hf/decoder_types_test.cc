// Every decoder type, with the settings of its golden case and with other settings: decoding with
// caches equals the whole forward pass, and folders contain everything that the model needs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/window_caches.h"
#include "weft/models/hf/export.h"
#include "weft/models/hf/gpt.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/match_tensors.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decoder_types)
namespace {

using nlohmann::json;
using testing::says;

json case_config(const std::string& name) {
  static const json all =
      json::parse(read_whole_file(std::string(WEFT_FIXTURES) + "/decoder_configs.json"));
  return all.at(name);
}

/// Settings that differ from those of the case. A value of "absent" removes the key.
struct Variant {
  std::string name;
  json changes;
};

const json kYarn = {{"rope_type", "yarn"},
                    {"factor", 4.0},
                    {"original_max_position_embeddings", 4},
                    {"mscale", 0.7},
                    {"mscale_all_dim", 1.2}};

std::vector<Variant> variants() {
  const json no_layers = {{"layer_types", "absent"}};
  return {
      {"bloom-default", {{"tie_word_embeddings", false}}},
      {"codegen-default", {{"rotary_dim", 2}, {"n_ctx", 99}, {"tie_word_embeddings", true}}},
      {"cohere-default", {{"use_qk_norm", false}, {"attention_bias", true}}},
      {"cohere2-default", {{"layer_types", "absent"}, {"sliding_window", 2}}},
      {"cohere2-default",
       {{"layer_types", json::array({"full_attention", "sliding_attention", "full_attention"})}}},
      {"deepseek-v2-default",
       {{"q_lora_rank", nullptr}, {"topk_method", "greedy"}, {"rope_scaling", kYarn}}},
      {"deepseek-v2-default", {{"attention_bias", true}, {"n_shared_experts", nullptr}}},
      {"deepseek-v3-default",
       {{"rope_interleave", false}, {"n_group", 1}, {"topk_group", 1}, {"rope_scaling", kYarn}}},
      {"deepseek-v3-default",
       {{"q_lora_rank", nullptr}, {"norm_topk_prob", false}, {"first_k_dense_replace", 2}}},
      {"exaone4-default", {{"sliding_window", nullptr}, {"layer_types", "absent"}}},
      {"exaone4-default", {{"sliding_window_pattern", 3}, {"layer_types", "absent"}}},
      {"falcon-alibi-serial", {{"parallel_attn", true}, {"alibi", false}}},
      {"falcon-multi-query", {{"new_decoder_architecture", true}, {"num_kv_heads", 2}}},
      {"falcon-multi-query",
       {{"new_decoder_architecture", true}, {"num_ln_in_parallel_attn", 1}, {"bias", true}}},
      {"falcon-multi-query", {{"alibi", true}, {"ffn_hidden_size", 40}}},
      {"gemma-default", {{"attention_bias", true}, {"hidden_activation", "gelu_pytorch_tanh"}}},
      {"gemma2-default",
       {{"attn_logit_softcapping", nullptr},
        {"final_logit_softcapping", nullptr},
        {"layer_types", "absent"}}},
      {"gemma3-default",
       {{"rope_theta", "absent"},
        {"rope_local_base_freq", "absent"},
        {"layer_types", "absent"},
        {"sliding_window_pattern", 2},
        {"final_logit_softcapping", 4.0},
        {"rope_parameters",
         {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 900.0}}},
          {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 50.0}}}}}}},
      {"gemma3-default",
       {{"layer_types", json::array({"full_attention", "full_attention", "full_attention"})}}},
      {"glm4-default", {{"attention_bias", false}, {"partial_rotary_factor", 0.4}}},
      {"gpt-bigcode-multi-query", {{"multi_query", false}, {"scale_attn_weights", false}}},
      {"gpt-neo-default",
       {{"attention_types", json::array({json::array({json::array({"local"}), 2})})},
        {"attention_layers", "absent"},
        {"intermediate_size", 20}}},
      {"gpt-neo-default",
       {{"attention_layers", json::array({"global", "global"})}, {"attention_types", "absent"}}},
      {"gpt-oss-default", {{"rope_scaling", nullptr}, {"attention_bias", false}}},
      {"gpt-oss-default",
       {{"rope_scaling", "absent"}, {"layer_types", "absent"}, {"swiglu_limit", 0.5}}},
      {"gptj-default", {{"rotary_dim", 6}, {"n_inner", 20}}},
      {"granite-default", {{"attention_bias", true}, {"mlp_bias", true}}},
      {"llama4-text-default",
       {{"use_qk_norm", false},
        {"attn_temperature_tuning", false},
        {"moe_layers", "absent"},
        {"no_rope_layers", json::array()},
        {"no_rope_layer_interval", 2},
        {"layer_types", "absent"}}},
      {"llama4-text-default", {{"moe_layers", json::array({0})}, {"num_experts_per_tok", 2}}},
      {"ministral-default", {{"layer_types", "absent"}}},
      {"ministral3-default", {{"sliding_window", 3}}},
      {"ministral3-default", {{"rope_parameters", "absent"}, {"rope_scaling", nullptr}}},
      {"mistral-nemo-like", {{"sliding_window", 3}}},
      {"mixtral-default", {{"sliding_window", 3}, {"output_router_logits", false}}},
      {"mpt-default",
       {{"attn_config", {{"clip_qkv", 0.8}, {"softmax_scale", 0.3}, {"attn_pdrop", 0}}}}},
      {"nemotron-default", {{"attention_bias", true}, {"mlp_bias", true}}},
      {"olmo-default", {{"clip_qkv", nullptr}, {"attention_bias", true}}},
      {"olmo2-default",
       {{"attention_bias", true}, {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}}},
      {"olmoe-default", {{"clip_qkv", 0.9}, {"norm_topk_prob", true}}},
      {"opt-default", {{"do_layer_norm_before", false}, {"word_embed_proj_dim", 20}}},
      {"opt-default", {{"_remove_final_layer_norm", true}, {"word_embed_proj_dim", 20}}},
      {"opt-default", {{"enable_bias", false}, {"layer_norm_elementwise_affine", false}}},
      {"phi-default", {{"qk_layernorm", true}, {"num_key_value_heads", 4}}},
      {"phi3-longrope-short",
       {{"max_position_embeddings", 24}, {"original_max_position_embeddings", 4}}},
      {"phi3-longrope-short",
       {{"partial_rotary_factor", 0.5},
        {"rope_scaling",
         {{"type", "su"}, {"short_factor", {1.0, 1.5}}, {"long_factor", {2.0, 4.0}}}}}},
      {"qwen2-default",
       {{"use_sliding_window", true},
        {"sliding_window", 3},
        {"max_window_layers", 1},
        {"layer_types", "absent"}}},
      {"qwen2-moe-default",
       {{"decoder_sparse_step", 2}, {"norm_topk_prob", true}, {"qkv_bias", false}}},
      {"qwen2-moe-default", {{"use_sliding_window", true}, {"sliding_window", 3}}},
      {"qwen3-default", {{"attention_bias", true}, {"tie_word_embeddings", true}}},
      {"qwen3-moe-default",
       {{"attention_bias", true},
        {"mlp_only_layers", json::array()},
        {"head_dim", "absent"},
        {"hidden_size", 16}}},
      {"qwen3-moe-default", {{"num_experts", "absent"}, {"num_local_experts", 4}}},
      {"smollm3-default",
       {{"use_sliding_window", true},
        {"sliding_window", 2},
        {"layer_types", "absent"},
        {"no_rope_layers", "absent"},
        {"no_rope_layer_interval", 2}}},
      {"stablelm-default", {{"qk_layernorm", true}, {"use_parallel_residual", true}}},
      {"stablelm-default", {{"qk_layernorm", true}, {"use_qkv_bias", false}}},
      {"starcoder2-default", {{"use_bias", false}, {"sliding_window", nullptr}}},
  };
}

/// All configs, with their names.
std::vector<std::pair<std::string, json>> configs() {
  std::vector<std::pair<std::string, json>> all;
  const json cases =
      json::parse(read_whole_file(std::string(WEFT_FIXTURES) + "/decoder_configs.json"));
  for (const auto& [name, config] : cases.items()) all.emplace_back(name, config);
  for (const Variant& variant : variants()) {
    json config = case_config(variant.name);
    for (const auto& [key, value] : variant.changes.items()) {
      config.erase(key);
      if (value != "absent") config[key] = value;
    }
    all.emplace_back(variant.name + " with " + variant.changes.dump(), config);
  }
  return all;
}

/// Sets all weights to random numbers.
void randomise(Session& session) {
  std::uint64_t seed = 7;
  for (const Variable& variable : weight_variables(session.graph())) {
    const Sizes sizes = variable.info().type.shape.constant();
    session.set_value(variable.name(), normal_tensor(sizes, ++seed, DType::f32, 0.1, 0.4));
  }
}

double largest_difference(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE((a.sizes() == b.sizes()));
  double largest = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double d = std::abs(a.at(i) - b.at(i));
    largest = std::isnan(d) ? HUGE_VAL : std::max(largest, d);
  }
  return largest;
}

/// A batch of two texts, the second of which has padding on the left.
struct Batch {
  static constexpr std::int64_t kLength = 11, kPadding = 3;
  std::vector<std::int64_t> ids, mask, positions;

  explicit Batch(std::int64_t vocab) {
    for (std::int64_t i = 0; i < 2 * kLength; ++i) {
      const std::int64_t place = i % kLength - (i < kLength ? 0 : kPadding);
      ids.push_back(1 + (i * 17 + 3) % (vocab - 1));
      mask.push_back(place < 0 ? 0 : 1);
      positions.push_back(std::max<std::int64_t>(place, 0));
    }
  }
  static Tensor columns(const std::vector<std::int64_t>& values, std::int64_t first,
                        std::int64_t count) {
    std::vector<std::int64_t> part;
    for (const std::int64_t row : {std::int64_t{0}, kLength})
      part.insert(part.end(), values.begin() + row + first, values.begin() + row + first + count);
    return Tensor::of<std::int64_t>({2, count}, part);
  }
};

/// Returns the logits of all positions [2, length, vocab] of a whole forward pass, 0 for padding.
Tensor whole_logits(const hf::GptModel& model, Session& session, const Batch& batch) {
  Graph& graph = session.graph();
  const auto input = [&](const char* name) {
    return graph.input(name, DType::i64, {"batch", "seq"});
  };
  const GptOutputs outputs = model.gpt({.ids = input("ids"),
                                        .attention_mask = input("mask"),
                                        .position_ids = input("position_ids")});
  Program program("whole");
  program.output("logits", outputs.logits);
  const auto all = [](const std::vector<std::int64_t>& v) {
    return Batch::columns(v, 0, Batch::kLength);
  };
  Tensor logits = session
                      .run(program, {{"ids", all(batch.ids)},
                                     {"mask", all(batch.mask)},
                                     {"position_ids", all(batch.positions)}})["logits"]
                      .clone();
  const std::int64_t vocab = logits.size(2);
  for (std::int64_t row = 0; row < 2 * Batch::kLength; ++row) {
    if (batch.mask[static_cast<std::size_t>(row)] == 0)
      std::fill_n(logits.mutable_data<float>() + row * vocab, vocab, 0.0F);
  }
  return logits;
}

BOOST_AUTO_TEST_CASE(decoding_with_caches_equals_the_whole_forward_pass_for_every_type) {
  for (const auto& [name, config] : configs()) {
    BOOST_TEST_CONTEXT(name) {
      Graph graph;
      const hf::GptModel model = hf::build_gpt_model(graph, config.dump());
      Session session(graph, {.threads = 1});
      randomise(session);
      const Batch batch(model.gpt.config().vocab);
      const Tensor whole = whole_logits(model, session, batch);
      const Program decode =
          model.gpt.decode_program(graph.input("tokens", DType::i64, {"rows", "new"}));
      WindowCaches caches(graph, model.gpt.config());
      caches.resize(Batch::kLength, Batch::kLength);
      const std::int64_t vocab = model.gpt.config().vocab;
      double scale = 0;
      for (std::int64_t i = 0; i < whole.numel(); ++i)
        scale = std::max(scale, std::abs(whole.at(i)));
      // With longrope, the first piece is long enough to select the factors of the whole text.
      const bool longrope = model.gpt.config().rotary_scaling == RotaryScalingKind::longrope;
      for (std::int64_t done = 0, added = longrope ? 9 : 5; done < Batch::kLength;
           done += added, added = 2) {
        const Tensor visible = Batch::columns(batch.mask, 0, Batch::kLength).to(DType::boolean);
        const Tensor last =
            session.run(decode,
                        {{"tokens", Batch::columns(batch.ids, done, added)},
                         {"positions", Batch::columns(batch.positions, done, added)},
                         {"position", Tensor::scalar(DType::i64, static_cast<double>(done))},
                         {"visible", visible}},
                        {.dims = caches.sizes()})["logits"];
        double difference = 0;
        for (std::int64_t row = 0; row < 2; ++row) {
          for (std::int64_t v = 0; v < vocab; ++v) {
            const std::int64_t place = (row * Batch::kLength + done + added - 1) * vocab + v;
            difference = std::max(difference, std::abs(last.at(row * vocab + v) - whole.at(place)));
          }
        }
        BOOST_TEST(difference <= 2e-5 * scale,
                   "after " << done + added << " tokens: " << difference << " of " << scale);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(files_of_every_type_contain_its_weights_and_its_config) {
  for (const auto& [name, config] : configs()) {
    BOOST_TEST_CONTEXT(name) {
      Graph graph;
      const std::string text = config.dump(2);
      const hf::GptModel model = hf::build_gpt_model(graph, text);
      Session session(graph, {.threads = 1});
      randomise(session);
      session.initialise();
      const Batch batch(model.gpt.config().vocab);
      const Tensor logits = whole_logits(model, session, batch);
      // Tensors under file names are matched with the same variables.
      const TensorMap files = hf::export_weights(model.model, graph, *session.store());
      TensorMap weights;
      for (const auto& [variable, tensor] : hf::match_weights(model.model, graph, files, "files")) {
        BOOST_TEST(bitwise_equal(tensor, session.value(variable.name())), variable.name());
        weights[variable.name()] = tensor;
      }
      BOOST_TEST(weights.size() == weight_variables(graph).size());
      // With and without the original config.json, the exported folder is the same model.
      const hf::ModelToExport library{
          .family = *model.model.family, .weights = weights, .endings = {"ForCausalLM"}};
      BOOST_TEST(hf::export_model(library, text).config == text);
      for (const std::string& base : {text, std::string()}) {
        const hf::ExportedModel exported = hf::export_model(library, base);
        Graph other;
        const hf::GptModel again = hf::build_gpt_model(other, exported.config);
        Session read(other, {.threads = 1});
        for (const auto& [variable, tensor] :
             hf::match_weights(again.model, other, exported.weights, "exported"))
          read.set_value(variable.name(), tensor);
        BOOST_TEST(largest_difference(whole_logits(again, read, batch), logits) <= 1e-5,
                   exported.config);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(exported_configs_lack_the_keys_of_another_kind_of_scaling) {
  const std::string base = json{
      {"model_type", "llama"},
      {"architectures", {"LlamaForCausalLM"}},
      {"vocab_size", 20},
      {"hidden_size", 8},
      {"intermediate_size", 12},
      {"num_hidden_layers", 1},
      {"num_attention_heads", 2},
      {"rope_scaling",
       {{"rope_type", "llama3"},
        {"factor", 8.0},
        {"low_freq_factor", 1.0},
        {"high_freq_factor", 4.0},
        {"original_max_position_embeddings",
         32}}}}.dump();
  GptConfig config = hf::gpt_config(base);
  config.rotary_scaling = RotaryScalingKind::linear;
  config.rotary_factor = 4;
  const hf::ModelToExport model{.family = config, .weights = {}, .endings = {"ForCausalLM"}};
  const json written = json::parse(hf::export_model(model, base).config).at("rope_scaling");
  BOOST_TEST((written == json{{"type", "linear"}, {"rope_type", "linear"}, {"factor", 4.0}}),
             written.dump());
}

BOOST_AUTO_TEST_CASE(classes_of_every_type_have_their_heads) {
  const std::set<std::string> without_sequences = {"codegen",     "cohere", "cohere2", "granite",
                                                   "llama4_text", "olmo",   "olmo2",   "olmoe"};
  std::set<std::string> without_tokens = {"deepseek_v2", "gemma3_text", "gptj", "opt"};
  without_tokens.insert(without_sequences.begin(), without_sequences.end());
  for (const auto& [name, original] : configs()) {
    BOOST_TEST_CONTEXT(name) {
      json config = original;
      config["num_labels"] = 3;
      if (!config.contains("pad_token_id")) config["pad_token_id"] = 0;
      const std::string text = config.dump();
      std::string prefix = config.at("architectures").at(0);
      prefix = prefix.substr(0, prefix.find("ForCausalLM"));
      if (prefix == "Gemma3" || prefix == "Llama4") prefix += "Text";
      const hf::InputTypes inputs = {{"input_ids", {DType::i32, {2, 5}}}};
      // Returns the names and types of the outputs.
      const auto build = [&](const std::string& ending) {
        Graph graph;
        std::map<std::string, std::string> types;
        for (const auto& [output, value] :
             hf::build_model(graph, text, inputs, prefix + ending).outputs)
          types[output] = value.type().str();
        return types;
      };
      BOOST_TEST(build("Model").contains("last_hidden_state"));
      BOOST_TEST(!build("Model").contains("logits"));
      const auto has_class = [&](const std::string& ending, const std::string& type) {
        try {
          BOOST_TEST(build(ending).at("logits") == type);
        } catch (const ArgumentError& e) {
          BOOST_TEST(std::string(e.what()).find("the class " + prefix + ending) !=
                     std::string::npos);
          return false;
        }
        return true;
      };
      const std::string type = config.at("model_type");
      BOOST_TEST(has_class("ForSequenceClassification", "f32[batch, 3]") ==
                 !without_sequences.contains(type));
      BOOST_TEST(has_class("ForTokenClassification", "f32[batch, seq, 3]") ==
                 !without_tokens.contains(type));
    }
  }
}

BOOST_AUTO_TEST_CASE(missing_and_misshapen_experts_are_named_as_in_the_file) {
  Graph graph;
  const hf::GptModel model = hf::build_gpt_model(graph, case_config("mixtral-default").dump());
  Session session(graph, {.threads = 1});
  randomise(session);
  const TensorMap whole = hf::export_weights(model.model, graph, *session.store());
  const std::string front = "model.layers.1.block_sparse_moe.experts.";
  const auto fails = [&](auto change, const std::string& message) {
    TensorMap files = whole;
    change(files);
    BOOST_CHECK_EXCEPTION(hf::match_weights(model.model, graph, files, "files"), FormatError,
                          says(message));
  };
  fails(
      [&](TensorMap& files) {
        files.erase(front + "1.w1.weight");
        files.erase(front + "3.w1.weight");
      },
      "missing: '" + front + "{1,3}.w1.weight' f32[5, 15, 24]");
  fails(
      [&](TensorMap& files) {
        for (int i = 0; i < 5; ++i) files.erase(front + std::to_string(i) + ".w2.weight");
      },
      "missing: '" + front + "*.w2.weight' f32[5, 24, 15]");
  fails(
      [&](TensorMap& files) {
        files[front + "2.w3.weight"] = Tensor::zeros(DType::f32, {4, 24});
      },
      "mismatched: '" + front + "2.w3.weight' is f32[4, 24], but the variable is f32[5, 15, 24]");
  fails(
      [&](TensorMap& files) {
        files[front + "5.w3.weight"] = Tensor::zeros(DType::f32, {15, 24});
      },
      "unexpected: '" + front + "5.w3.weight' f32[15, 24]");
}

BOOST_AUTO_TEST_CASE(half_precision_experts_and_interleaved_gates_are_widened) {
  for (const char* name : {"gpt-oss-default", "llama4-text-default", "olmoe-default"}) {
    BOOST_TEST_CONTEXT(name) {
      Graph graph;
      const hf::GptModel model = hf::build_gpt_model(graph, case_config(name).dump());
      Session session(graph, {.threads = 1});
      randomise(session);
      TensorMap files;
      std::int64_t i = 0;  // every third tensor is f16, so that stacks mix dtypes
      for (const auto& [file, tensor] : hf::export_weights(model.model, graph, *session.store()))
        files[file] = tensor.to(++i % 3 == 0 ? DType::f16 : DType::bf16);
      for (const auto& [variable, tensor] : hf::match_weights(model.model, graph, files, "files")) {
        BOOST_TEST((tensor.dtype() == DType::f32));
        BOOST_TEST(largest_difference(tensor, session.value(variable.name())) <= 0.02);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(interleaved_gates_are_every_second_feature) {
  Graph graph;
  const hf::GptModel model = hf::build_gpt_model(graph, case_config("gpt-oss-default").dump());
  Session session(graph, {.threads = 1});
  randomise(session);
  const TensorMap files = hf::export_weights(model.model, graph, *session.store());
  const Tensor fused = files.at("model.layers.0.mlp.experts.gate_up_proj");
  const Tensor gate = session.value("transformer.h.0.mlp.experts.gate");
  const Tensor up = session.value("transformer.h.0.mlp.experts.up");
  BOOST_TEST((fused.sizes() == Sizes{4, 24, 34}));
  for (std::int64_t i = 0; i < gate.numel(); ++i) {
    BOOST_TEST_REQUIRE(fused.at(2 * i) == gate.at(i));
    BOOST_TEST_REQUIRE(fused.at(2 * i + 1) == up.at(i));
  }
}

BOOST_AUTO_TEST_CASE(other_model_types_are_rejected_with_the_reason_and_the_nearest_type) {
  for (const auto& [type, message] : std::map<std::string, std::string>{
           {"mamba", "model_type is \"mamba\", which is not supported: it has state-space layers;"},
           {"qwen3_next",
            "which is not supported: it has gated delta net layers; the nearest supported type is "
            "\"qwen3_moe\"; supported are"},
           {"gemma3",
            "it has a vision tower; a folder of its text model has the model_type \"gemma3_text\""},
           {"mistrall", "model_type is \"mistrall\" (did you mean 'mistral'?); supported are"}}) {
    Graph graph;
    BOOST_CHECK_EXCEPTION(
        hf::build_model(graph, json{{"model_type", type}, {"architectures", {"X"}}}.dump(),
                        {{"input_ids", {DType::i32, {1, 2}}}}),
        ArgumentError, says(message));
  }
}

BOOST_AUTO_TEST_CASE(keys_of_published_files_that_transformers_does_not_read_are_accepted) {
  const std::map<std::string, json> published = {
      {"codegen-default", {{"n_ctx", 2048}}},
      {"cohere2-default",
       {{"layer_switch", 4},
        {"order_of_interleaved_layers", "local_attn_first"},
        {"position_embedding_type", "rope_gptj"},
        {"rotary_pct", 1.0},
        {"use_embedding_sharing", true},
        {"use_gated_activation", true},
        {"use_parallel_block", true},
        {"use_parallel_embedding", false}}},
      {"gemma2-default", {{"hidden_act", "gelu"}, {"sliding_window_size", 4096}}},
      {"gemma3-default", {{"hidden_act", "silu"}}},
      {"gpt-bigcode-multi-query", {{"pad_key_length", true}, {"validate_runner_input", true}}},
      {"mpt-default", {{"tokenizer_name", "EleutherAI/gpt-neox-20b"}, {"expansion_ratio", 4}}},
      {"opt-default", {{"activation_dropout", 0.0}, {"prefix", "</s>"}}},
      {"phi3-default", {{"full_attn_mod", 1}, {"interpolate_factor", 1}, {"lm_head_bias", false}}},
      {"qwen3-moe-default",
       {{"num_local_experts", 6},
        {"qkv_bias", false},
        {"shared_expert_intermediate_size", 0},
        {"use_qk_norm", true}}},
      {"starcoder2-default", {{"mlp_type", "default"}, {"norm_type", "layer_norm"}}}};
  for (const auto& [name, keys] : published) {
    BOOST_TEST_CONTEXT(name) {
      json config = case_config(name);
      if (name.starts_with("gemma")) config.erase("hidden_activation");
      const GptConfig before = hf::gpt_config(config.dump());
      config.update(keys);
      BOOST_TEST((hf::gpt_config(config.dump()) == before));
    }
  }
}

BOOST_AUTO_TEST_CASE(folders_that_name_the_classes_of_the_authors_of_mpt_are_read) {
  json config = case_config("mpt-default");
  config["architectures"] = {"MPTForCausalLM"};
  BOOST_TEST(hf::is_gpt_language_model(config.dump()));
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, config.dump(), {{"input_ids", {DType::i32, {1, 2}}}});
  BOOST_TEST(model.architecture == "MptForCausalLM");
  BOOST_TEST(model.outputs.contains("logits"));
}

BOOST_AUTO_TEST_CASE(masks_in_the_files_of_old_models_are_ignored) {
  Graph graph;
  const hf::GptModel model = hf::build_gpt_model(graph, case_config("codegen-default").dump());
  Session session(graph, {.threads = 1});
  randomise(session);
  TensorMap files = hf::export_weights(model.model, graph, *session.store());
  files["transformer.h.0.attn.causal_mask"] = Tensor::zeros(DType::boolean, {1, 1, 4, 4});
  BOOST_CHECK_NO_THROW(hf::match_weights(model.model, graph, files, "files"));
}

// Without checks, the loops over layers that some keys need would not terminate, and sums of sizes
// would overflow.
BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_read_or_rejected) {
  int tried = 0;
  for (const auto& [name, config] : configs()) {
    for (const auto& [key, value] : config.items()) {
      if (!value.is_number_integer()) continue;
      for (const std::int64_t number :
           {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31,
            std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        json other = config;
        other[key] = number;
        ++tried;
        try {
          hf::gpt_config(other.dump());
        } catch (const Error&) {  // the message names the key or the field
        }
      }
    }
  }
  BOOST_TEST(tried > 3000);
}

BOOST_AUTO_TEST_CASE(settings_that_no_decoder_supports_are_rejected_by_name) {
  const auto rejects = [](const std::string& name, const json& changes,
                          const std::string& message) {
    json config = case_config(name);
    config.update(changes);
    BOOST_CHECK_EXCEPTION(hf::gpt_config(config.dump()), Error, says(message));
  };
  rejects(
      "bloom-default", {{"apply_residual_connection_post_layernorm", true}},
      "apply_residual_connection_post_layernorm is true: residual connections around the norms");
  rejects("mpt-default", {{"attn_config", {{"alibi", false}}}}, "attn_config.alibi is false");
  rejects("mpt-default", {{"attn_config", {{"qk_ln", true}}}}, "attn_config.qk_ln is true");
  rejects("mpt-default", {{"attn_config", {{"novelty", 2}}}},
          "unknown key attn_config.novelty = 2, which might change the scores");
  rejects("mixtral-default", {{"router_jitter_noise", 0.1}},
          "router_jitter_noise is 0.1: noise in the router is not supported");
  rejects("gemma2-default", {{"use_bidirectional_attention", true}},
          "use_bidirectional_attention is true");
  rejects("gemma2-default", {{"layer_types", {"chunked_attention"}}},
          "layer_types contains \"chunked_attention\"; supported are \"full_attention\" and "
          "\"sliding_attention\" for model_type \"gemma2\"");
  rejects("gemma2-default", {{"sliding_window", nullptr}},
          "layer_types contains layers with a window, but sliding_window specifies no window");
  rejects("deepseek-v2-default", {{"topk_method", "noaux_tc"}},
          "topk_method is \"noaux_tc\": supported are greedy and group_limited_greedy");
  rejects("deepseek-v3-default", {{"scoring_func", "softmax"}}, "scoring_func is \"softmax\"");
  rejects("deepseek-v3-default", {{"moe_layer_freq", 2}},
          "moe_layer_freq is 2: only the first layers can be dense");
  rejects("deepseek-v3-default", {{"num_key_value_heads", 2}},
          "num_key_value_heads is 2, but num_attention_heads, which is the same setting, is 4");
  rejects("gptj-default", {{"rotary_dim", 99}}, "rotary_dim is 99, but the heads have 6 features");
  rejects("gpt-neo-default", {{"attention_types", json::array({"local"})}},
          "'attention_types' must be a list such as [[[\"global\", \"local\"], 12]]");
  rejects("gpt-neo-default", {{"attention_layers", {"global", "global"}}},
          "attention_layers and attention_types contradict each other");
  rejects("gpt-neo-default", {{"attention_layers", {"global", "near"}}},
          "attention_types contains \"near\"; supported are global and local");
  rejects("gpt-neo-default", {{"num_layers", 3}}, "must list the types of all 3 layers");
  rejects("exaone4-default", {{"layer_types", nullptr}, {"sliding_window_pattern", "LLG"}},
          "sliding_window_pattern is a text, which needs layer_types");
  rejects("exaone4-default", {{"sliding_window_pattern", 0}},
          "sliding_window_pattern is 0, but must be a number of layers in [1, 1000]");
  rejects("qwen2-moe-default", {{"decoder_sparse_step", 0}},
          "decoder_sparse_step must be at least 1, not 0");
  rejects("qwen2-moe-default", {{"mlp_only_layers", {"1"}}},
          "'mlp_only_layers' must be an integer");
  rejects("qwen2-moe-default", {{"mlp_only_layers", 1}},
          "'mlp_only_layers' must be a list of integers, not 1");
  rejects("llama4-text-default", {{"no_rope_layers", {1, 0}}},
          "no_rope_layers has 2 entries, but the model has 4 layers");
  rejects("opt-default", {{"layerdrop", 0.1}},
          "layerdrop is 0.1: training that skips layers is not supported");
  rejects("cohere2-default", {{"use_qk_norm", true}}, "use_qk_norm is true");
  rejects("gpt-oss-default", {{"swiglu_alpha", 2}}, "swiglu_alpha is 2");
  rejects("qwen2-default", {{"rope_parameters", {{"full_attention", {{"rope_theta", 5.0}}}}}},
          "rope_parameters.full_attention: this model type has the same rotary positions in all "
          "layers");
  rejects("gemma3-default",
          {{"rope_parameters",
            {{"full_attention", {{"rope_theta", 10000.0}}},
             {"sliding_attention", {{"rope_type", "linear"}, {"factor", 2}}}}}},
          "rope_parameters.sliding_attention.rope_type is \"linear\": layers with a window cannot "
          "have scaled positions");
  rejects("gemma3-default",
          {{"rope_parameters", {{"full_attention", {{"rope_theta", 10000.0}}}, {"factor", 8.0}}}},
          "unknown key rope_parameters.factor = 8.0, which might change rotary positions");
  rejects("mpt-default", {{"attn_config", {{"rope", true}}}}, "unknown key attn_config.rope");
  rejects("cohere2-default", {{"rotary_pct", 0.5}}, "rotary_pct is 0.5");
  rejects("starcoder2-default", {{"mlp_type", "gated"}}, "mlp_type is \"gated\"");
  rejects("qwen3-moe-default", {{"num_local_experts", 4}},
          "num_local_experts is 4, but num_experts, which is the same setting, is 6");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
