// Newer encoders in Hugging Face folders: names and keys of the authors' code, classes and their
// heads, contradictory keys, and the export of models that do not come from a folder.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/export.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(encoder_folder_types)
namespace {

using nlohmann::json;
using testing::says;

json config_of(const std::string& name) {
  return json::parse(read_whole_file(std::string(WEFT_FIXTURES) + "/encoder_configs.json"))
      .at(name);
}

/// A model with random weights.
struct Random {
  explicit Random(const json& config) : text(config.dump()) {
    model = hf::build_model(graph, text, {{"input_ids", {DType::i64, {1, 8}}}});
    store = std::make_shared<VariableStore>();
    Session session(graph, store, {.seed = 5, .threads = 1});
    session.initialise();
    weights = hf::export_weights(model, graph, *store);
  }
  Tensor run(const std::string& output) {
    Session session(graph, store, {.threads = 1});
    const Tensor ids = Tensor::of<std::int64_t>({1, 8}, {2, 7, 9, 4, 30, 11, 5, 3});
    return session.run(Program("p").output("out", model.outputs.at(output)),
                       {{"input_ids", ids}})["out"];
  }
  const EncoderConfig& config() const { return std::get<EncoderConfig>(*model.family); }
  /// Replaces the weights.
  void load(const TensorMap& tensors) {
    for (const auto& [variable, tensor] : hf::match_weights(model, graph, tensors, "the file"))
      store->set(variable.name(), tensor);
  }

  std::string text;
  Graph graph;
  hf::Model model;
  std::shared_ptr<VariableStore> store;
  TensorMap weights;
};

EncoderConfig read(const json& config) { return Random(config).config(); }

void rejects(const json& config, const std::string& message) {
  BOOST_CHECK_EXCEPTION(read(config), Error, says(message));
}

/// Returns the tensors with parts of their names replaced.
TensorMap renamed(const TensorMap& tensors,
                  const std::vector<std::pair<std::string, std::string>>& names) {
  TensorMap result;
  for (const auto& [original, tensor] : tensors) {
    std::string name = original;
    for (const auto& [from, to] : names) {
      if (const std::size_t at = name.find(from); at != name.npos)
        name.replace(at, from.size(), to);
    }
    result[name] = tensor;
  }
  return result;
}

/// Stacks the tensors <front>{a}<end>, <front>{b}<end>, ... into <front>{whole}<end>.
void stack_rows(TensorMap& tensors, const std::vector<std::string>& parts,
                const std::string& whole) {
  TensorMap result;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t at = name.find(parts[0]);
    if (at == name.npos) continue;
    Sizes sizes = tensor.sizes();
    sizes[0] *= std::ssize(parts);
    Tensor all = Tensor::empty(tensor.dtype(), sizes);
    std::byte* to = all.mutable_raw();
    for (const std::string& part : parts) {
      std::string own = name;
      const Tensor& piece = tensors.at(own.replace(at, parts[0].size(), part));
      to = std::copy_n(piece.raw(), piece.bytes(), to);
    }
    std::string stacked = name;
    result[stacked.replace(at, parts[0].size(), whole)] = all;
  }
  for (const std::string& part : parts)
    std::erase_if(tensors, [&](const auto& t) { return t.first.find(part) != t.first.npos; });
  tensors.merge(result);
}

BOOST_AUTO_TEST_CASE(nomic_files_of_the_authors_code_equal_those_of_the_library) {
  json library = config_of("nomic-bert-mlm");
  library.update({{"vocab_size", 88},
                  {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1000.0}}}});
  json authors = config_of("nomic-published");
  authors["architectures"] = {"NomicBertForPreTraining"};
  authors["rotary_scaling_factor"] = nullptr;
  EncoderConfig expected = read(library);
  expected.head_size = 0;  // the authors' code derives it
  BOOST_TEST((read(authors) == expected));
  Random own(library), other(authors);
  TensorMap tensors = renamed(own.weights, {{"nomic_bert.layers", "bert.encoder.layers"},
                                            {"nomic_bert.embeddings.LayerNorm", "bert.emb_ln"},
                                            {"nomic_bert.", "bert."},
                                            {"self_attn.o_proj", "attn.out_proj"},
                                            {"mlp.up_proj", "mlp.fc11"},
                                            {"mlp.gate_proj", "mlp.fc12"},
                                            {"mlp.down_proj", "mlp.fc2"},
                                            {"post_attention_layernorm", "norm1"},
                                            {"post_mlp_layernorm", "norm2"}});
  stack_rows(tensors, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, "attn.Wqkv");
  BOOST_TEST(tensors.contains("bert.encoder.layers.1.attn.Wqkv.weight"));
  other.load(tensors);
  BOOST_TEST(bitwise_equal(other.run("logits"), own.run("logits")));
  // A length that is not a multiple of three is reported with its name.
  TensorMap damaged = tensors;
  damaged["bert.encoder.layers.1.attn.Wqkv.weight"] = Tensor::zeros(DType::f32, {71, 24});
  BOOST_CHECK_EXCEPTION(other.load(damaged), FormatError, says("layers.1.attn.Wqkv.weight"));
}

BOOST_AUTO_TEST_CASE(settings_of_the_nomic_authors_code_are_read_or_rejected) {
  const json config = config_of("nomic-published");
  const EncoderConfig scaled = read(config);
  BOOST_TEST((scaled.rotary_scaling == RotaryScalingKind::dynamic));
  BOOST_TEST(scaled.rotary_factor == 2);
  BOOST_TEST(scaled.rotary_context == 16);
  BOOST_TEST(scaled.vocab == 88);
  const auto with = [&](const json& keys) {
    json changed = config;
    changed.update(keys);
    return changed;
  };
  BOOST_TEST(read(with({{"rotary_emb_fraction", 0.7}})).rotary_size() == 4);
  BOOST_TEST((read(with({{"rotary_emb_fraction", 0}})).positions == EncoderPositions::absolute));
  BOOST_TEST(!read(with({{"activation_function", "gelu"}})).gated);
  BOOST_TEST((read(with({{"activation_function", "geglu"}})).activation == Activation::gelu_erf));
  BOOST_TEST(read(with({{"n_inner", nullptr}})).inner == 96);
  BOOST_TEST(read(with({{"qkv_proj_bias", true}})).attention_bias);
  rejects(with({{"prenorm", true}}), "prenorm");
  rejects(with({{"causal", true}}), "causal");
  rejects(with({{"parallel_block", true}}), "parallel_block");
  rejects(with({{"use_rms_norm", true}}), "use_rms_norm");
  rejects(with({{"rotary_emb_scale_base", 512}}), "rotary_emb_scale_base");
  rejects(with({{"embd_pdrop", 0.5}}), "embd_pdrop 0.5 differs from resid_pdrop 0");
  rejects(with({{"mlp_fc1_bias", true}}), "mlp_fc1_bias true with mlp_fc2_bias false");
  rejects(with({{"hidden_size", 48}}), "n_embd is 24, but hidden_size");
  rejects(with({{"pad_vocab_size_multiple", 0}}), "pad_vocab_size_multiple must be at least 1");
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  rejects(with({{"pad_vocab_size_multiple", kHuge}}), "pad_vocab_size_multiple must be at most");
  rejects(with({{"vocab_size", kHuge}}), "vocab_size must be at most");
  rejects(with({{"n_embd", kHuge}, {"n_inner", nullptr}}), "width must be at most");
  rejects(with({{"activation_function", "round"}}), "round");
  json newer = config_of("nomic-bert-mlm");
  newer["prenorm"] = true;  // not a key of the library
  rejects(newer, "unknown key prenorm");
}

BOOST_AUTO_TEST_CASE(jina_files_of_the_authors_code_equal_those_of_the_library) {
  const json config = config_of("jina-embeddings-v3-mlm");
  Random own(config), other(config);
  TensorMap tensors = renamed(own.weights, {{"roberta.layers", "roberta.encoder.layers"},
                                            {"embeddings.LayerNorm", "emb_ln"},
                                            {"self_attn.o_proj", "mixer.out_proj"},
                                            {"post_attention_layernorm", "norm1"},
                                            {"post_mlp_layernorm", "norm2"}});
  stack_rows(tensors, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, "mixer.Wqkv");
  for (auto& [name, tensor] : other.weights) tensor = Tensor::zeros(DType::f32, tensor.sizes());
  other.load(other.weights);
  other.load(tensors);
  BOOST_TEST(bitwise_equal(other.run("logits"), own.run("logits")));
  // Adapters inside the file change the results.
  tensors["roberta.encoder.layers.0.mlp.fc1.parametrizations.weight.0.lora_A"] =
      Tensor::zeros(DType::f32, {5, 4, 24});
  BOOST_CHECK_EXCEPTION(other.load(tensors), FormatError,
                        says("layers.0.mlp.fc1.parametrizations.weight.0.lora_A"));
  json older = config;
  older.erase("rope_parameters");
  older.update({{"rotary_emb_base", 500.0},
                {"position_embedding_type", "rotary"},
                {"lora_rank", 4},
                {"matryoshka_dimensions", {32, 64}}});
  BOOST_TEST(read(older).rotary_base == 500);
  older["rope_theta"] = 600;
  rejects(older, "rotary_emb_base is 500.0, but rope_theta");
  older = config;
  older["position_embedding_type"] = "absolute";
  rejects(older, "position_embedding_type");
  older = config;
  older["truncate_dim"] = 5;
  rejects(older, "unknown key truncate_dim");
}

BOOST_AUTO_TEST_CASE(jina_models_mask_padding_ids_without_an_attention_mask) {
  Random model(config_of("jina-embeddings-v3-mlm"));
  Session session(model.graph, model.store, {.threads = 1});
  const Program program = Program("p").output("h", model.model.outputs.at("last_hidden_state"));
  const Tensor a =
      session.run(program, {{"input_ids", Tensor::of<std::int64_t>({1, 4}, {5, 6, 7, 1})}})["h"];
  const Tensor b =
      session.run(program, {{"input_ids", Tensor::of<std::int64_t>({1, 3}, {5, 6, 7})}})["h"];
  for (std::int64_t i = 0; i < b.numel(); ++i) BOOST_TEST(std::abs(a.at(i) - b.at(i)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(gte_files_keep_ups_and_gates_in_one_tensor) {
  const json config = config_of("gte-published");
  Random own(config);
  const Tensor& both = own.weights.at("encoder.layer.1.mlp.up_gate_proj.weight");
  BOOST_TEST((both.sizes() == Sizes{62, 24}));
  const Tensor up = own.store->tensor("layers.1.feed_forward.up.weight"),
               gate = own.store->tensor("layers.1.feed_forward.gate.weight");
  BOOST_TEST(both.at(0) == up.at(0));
  BOOST_TEST(both.at(31 * 24) == gate.at(0));
  BOOST_TEST(both.at(62 * 24 - 1) == gate.at(31 * 24 - 1));
  BOOST_TEST(own.weights.contains("encoder.layer.0.attention.qkv_proj.bias"));
  BOOST_TEST(!own.weights.contains("encoder.layer.0.mlp.up_gate_proj.bias"));
  BOOST_TEST(own.weights.contains("encoder.layer.0.mlp.down_proj.bias"));
  Random other(config);
  other.load(own.weights);
  BOOST_TEST(bitwise_equal(other.run("last_hidden_state"), own.run("last_hidden_state")));
  TensorMap damaged = own.weights;
  damaged["encoder.layer.1.mlp.up_gate_proj.weight"] = Tensor::zeros(DType::f32, {61, 24});
  BOOST_CHECK_EXCEPTION(other.load(damaged), FormatError, says("up_gate_proj.weight"));
  damaged.erase("encoder.layer.1.mlp.up_gate_proj.weight");
  BOOST_CHECK_EXCEPTION(other.load(damaged), FormatError,
                        says("encoder.layer.1.mlp.up_gate_proj.weight[part 1 of 2]"));
}

// The authors divide the frequency of pair j by factor^((2 j + 2) / size); mixed_b is an exponent.
BOOST_AUTO_TEST_CASE(gte_scales_every_frequency_by_a_fixed_factor) {
  json config = config_of("gte-published");
  const EncoderConfig read_config = read(config);
  BOOST_TEST_REQUIRE(read_config.rotary_short_factors.size() == 3u);
  for (std::size_t j = 0; j < 3; ++j) {
    const double wanted = std::pow(2.0, static_cast<double>(2 * j + 2) / 6);
    BOOST_TEST(std::abs(read_config.rotary_short_factors[j] - wanted) < 1e-12);
  }
  BOOST_TEST(read_config.rotary_attention_factor == 1);
  config["rope_scaling"]["mixed_b"] = 0.5;
  BOOST_TEST(std::abs(read(config).rotary_short_factors[0] -
                      std::exp(std::log(2.0) / std::sqrt(3.0))) < 1e-12);
  config["rope_scaling"]["other"] = 3;
  rejects(config, "unknown key rope_scaling.other");
  config["rope_scaling"] = {{"type", "ntk"}, {"factor", 0.5}};
  rejects(config, "rope_scaling.factor must be in [1, ");
  config["rope_scaling"] = nullptr;
  config["position_embedding_type"] = "absolute";
  rejects(config, "position_embedding_type");
  config = config_of("gte-published");
  config["logn_attention_scale"] = true;
  rejects(config, "logn_attention_scale");
}

BOOST_AUTO_TEST_CASE(modernbert_layers_with_a_window_come_from_a_list_or_an_interval) {
  const json config = config_of("modernbert-mlm");
  const auto with = [&](const json& keys) {
    json changed = config;
    changed.update(keys);
    for (const auto& [key, value] : keys.items()) {
      if (value == "absent") changed.erase(key);
    }
    return changed;
  };
  const EncoderConfig usual = read(config);
  BOOST_TEST(usual.window == 6);
  BOOST_TEST(usual.window_layers == "011");
  BOOST_TEST(usual.rotary_base == 1600);
  BOOST_TEST(usual.rotary_window_base == 100);
  const json list = {"full_attention", "sliding_attention", "sliding_attention", "full_attention"};
  BOOST_TEST((read(with({{"layer_types", list}})) == usual));
  BOOST_TEST(
      (read(with({{"layer_types", list}, {"global_attn_every_n_layers", "absent"}})) == usual));
  BOOST_TEST(read(with({{"global_attn_every_n_layers", 2}})).window_layers == "01");
  const EncoderConfig full = read(with({{"global_attn_every_n_layers", 1}}));
  BOOST_TEST(full.window == 0);
  BOOST_TEST(full.rotary_window_base == 0);
  BOOST_TEST(read(with({{"local_rope_theta", nullptr}})).rotary_window_base == 0);
  const json nested = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 900.0}}},
                       {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 50.0}}}};
  const EncoderConfig newer = read(with({{"rope_parameters", nested},
                                         {"global_rope_theta", "absent"},
                                         {"local_rope_theta", "absent"}}));
  BOOST_TEST(newer.rotary_base == 900);
  BOOST_TEST(newer.rotary_window_base == 50);
  const EncoderConfig newer_full = read(with({{"rope_parameters", nested},
                                              {"global_attn_every_n_layers", 1},
                                              {"global_rope_theta", "absent"},
                                              {"local_rope_theta", "absent"}}));
  BOOST_TEST(newer_full.rotary_base == 900);
  BOOST_TEST(newer_full.rotary_window_base == 0);
  rejects(with({{"layer_types",
                 {"full_attention", "full_attention", "sliding_attention", "full_attention"}}}),
          "layer_types contradicts global_attn_every_n_layers (3)");
  rejects(with({{"layer_types", {"full_attention", "sliding_attention"}}}),
          "layer_types has 2 entries, but the model has 4 layers");
  rejects(with({{"layer_types", {"chunked_attention"}}}), "layer_types contains");
  rejects(with({{"global_attn_every_n_layers", 0}}),
          "global_attn_every_n_layers must be at least 1");
  rejects(with({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}}), "rope_scaling");
  rejects(with({{"classifier_pooling", "max"}}),
          "classifier_pooling is \"max\"; supported are cls, mean");
  rejects(with({{"num_hidden_layers", 100000000}}), "layers must be at most");
}

BOOST_AUTO_TEST_CASE(settings_that_the_code_of_a_type_fixes_are_rejected_by_name) {
  json mpnet = config_of("mpnet-mlm");
  mpnet["pad_token_id"] = 0;
  rejects(mpnet, "pad_token_id");
  mpnet = config_of("mpnet-mlm");
  mpnet["relative_attention_num_buckets"] = 64;
  rejects(mpnet, "relative_attention_num_buckets");
  json ernie = config_of("ernie-mlm-task-ids");
  BOOST_TEST(read(ernie).task_types == 3);
  ernie["use_task_id"] = false;
  BOOST_TEST(read(ernie).task_types == 0);
  json roformer = config_of("roformer-mlm");
  roformer["is_decoder"] = true;
  rejects(roformer, "is_decoder");
  roformer = config_of("roformer-mlm");
  roformer["architectures"] = {"RoFormerForCausalLM"};
  rejects(roformer, "RoFormerForCausalLM");
  roformer["architectures"] = {"RoFormerForMaskedLM"};
  roformer["rotary_value"] = true;
  BOOST_TEST(read(roformer).rotary_values);
  roformer["embedding_size"] = nullptr;
  BOOST_TEST(read(roformer).embeddings() == 24);
}

BOOST_AUTO_TEST_CASE(eurobert_classifiers_of_the_authors_code_are_read) {
  json config = config_of("eurobert-mlm");
  config.update({{"architectures", {"EuroBertForSequenceClassification"}}, {"num_labels", 3}});
  Random own(config);
  for (const auto& [name, pooling] : {std::pair{"late", HeadPooling::late},
                                      {"bos", HeadPooling::first},
                                      {"mean", HeadPooling::mean}}) {
    json older = config;
    older.erase("classifier_pooling");
    older["clf_pooling"] = name;
    BOOST_TEST((read(older).head_pooling == pooling));
  }
  json other = config;
  other["clf_pooling"] = "mean";
  rejects(other, "clf_pooling is \"mean\", but classifier_pooling");
  Random read_again(config);
  read_again.load(renamed(own.weights, {{"classifier.", "out_proj."}}));
  BOOST_TEST(bitwise_equal(read_again.run("logits"), own.run("logits")));
}

struct Type {
  std::string fixture, prefix;
  bool answers = true;
};
const std::vector<Type> kTypes = {{"modernbert-mlm", "ModernBert"},
                                  {"modernbert-mean", "ModernBert"},
                                  {"mpnet-mlm", "MPNet"},
                                  {"nomic-bert-mlm", "NomicBert", false},
                                  {"eurobert-mlm", "EuroBert", false},
                                  {"ernie-mlm-task-ids", "Ernie"},
                                  {"roformer-mlm", "RoFormer"},
                                  {"jina-embeddings-v3-mlm", "JinaEmbeddingsV3"},
                                  {"gte-published", "New"},
                                  {"arctic-published", "Gte"}};

BOOST_AUTO_TEST_CASE(every_class_of_every_type_has_its_outputs_and_a_loss) {
  for (const Type& type : kTypes) {
    BOOST_TEST_CONTEXT(type.fixture) {
      json config = config_of(type.fixture);
      config.erase("id2label");
      config.erase("label2id");
      config.erase("problem_type");
      const auto built = [&](const std::string& ending, hf::InputTypes inputs) {
        Graph graph;
        inputs["input_ids"] = {DType::i64, {2, 6}};
        inputs["attention_mask"] = {DType::i64, {2, 6}};
        std::map<std::string, std::string> outputs;
        for (const auto& [name, value] :
             hf::build_model(graph, config.dump(), inputs, type.prefix + ending).outputs)
          outputs[name] = value.type().str();
        return outputs;
      };
      const std::pair<DType, Sizes> rows{DType::i64, {2}}, tokens{DType::i64, {2, 6}};
      BOOST_TEST(built("Model", {}).contains("last_hidden_state"));
      BOOST_TEST(built("ForMaskedLM", {{"labels", tokens}}).at("loss") == "f32[]");
      BOOST_TEST(built("ForSequenceClassification", {{"labels", rows}}).at("logits") ==
                 "f32[batch, 2]");
      BOOST_TEST(built("ForTokenClassification", {{"labels", tokens}}).at("logits") ==
                 "f32[batch, seq, 2]");
      const hf::InputTypes spans = {{"start_positions", rows}, {"end_positions", rows}};
      if (type.answers) {
        BOOST_TEST(built("ForQuestionAnswering", spans).at("loss") == "f32[]");
      } else {
        BOOST_CHECK_EXCEPTION(built("ForQuestionAnswering", spans), ArgumentError,
                              says(type.prefix + "ForQuestionAnswering"));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(models_without_a_folder_are_exported_to_the_type_that_has_their_mechanisms) {
  const auto type_of = [](const std::function<void(EncoderConfig&)>& change,
                          EncoderConfig config = EncoderConfig::modernbert()) {
    config.vocab = 40;
    config.padding_id = 0;
    config.layers = 4;
    config.width = 24;
    change(config);
    return json::parse(hf::config_json(config, {"ForMaskedLM"}))["model_type"].get<std::string>();
  };
  BOOST_TEST(type_of([](EncoderConfig&) {}) == "modernbert");
  BOOST_TEST(type_of([](EncoderConfig& c) { c.window_layers = "0010"; }) == "modernbert");
  BOOST_TEST(type_of([](EncoderConfig& c) { c.rotary_window_base = 0; }) == "modernbert");
  BOOST_TEST(type_of([](EncoderConfig& c) {
               c.window = 0, c.window_layers = "", c.rotary_window_base = 0;
             }) == "modernbert");
  BOOST_TEST(type_of(
                 [](EncoderConfig& c) {
                   c.positions = EncoderPositions::relative_bias, c.positions_skip_padding = true,
                   c.token_types = 0, c.padding_id = 1;
                 },
                 {}) == "mpnet");
  BOOST_TEST(type_of([](EncoderConfig& c) { c.task_types = 5; }, {}) == "ernie");
  BOOST_TEST(type_of(
                 [](EncoderConfig& c) {
                   c.positions = EncoderPositions::rotary, c.rotary_adjacent = true;
                 },
                 {}) == "roformer");
  BOOST_CHECK_EXCEPTION(type_of([](EncoderConfig& c) { c.causal = true; }, {}), ArgumentError,
                        says("no Hugging Face model type supports causal = true"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
