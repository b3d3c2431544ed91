// Adapter folders of the PEFT library: reference values, every model family, settings and errors.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/adapters/base_class.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/adapted_models.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/adapters.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/vision_config.h"
#include "weft/tests/uses/folder_round_trip.h"
#include "weft/tests/uses/tiny_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(adapter_folders)
namespace {

using testing::TemporaryFolder;

const std::string kGoldenFolder = std::string(WEFT_FIXTURES) + "/goldens/";
const std::string kFrontOfNames = "base_model.model.";

double largest_error(const Tensor& a, const Tensor& b) {
  BOOST_TEST_REQUIRE((a.sizes() == b.sizes()));
  double worst = 0, most = 1e-30;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
    most = std::max(most, std::abs(b.at(i)));
  }
  return worst / most;
}

NamedTensors inputs_for(const std::string& config) {
  NamedTensors inputs;
  for (auto& [name, type] : hf::minimal_inputs(config)) {
    if (type.first == DType::f32) {
      inputs.emplace_back(name, sample_uniform(type.second, 4).to(DType::f32));
    } else {
      inputs.emplace_back(name, Tensor::of<std::int32_t>({1, 6}, {5, 9, 2, 7, 11, 2}));
    }
  }
  return inputs;
}

/// A class of transformers with its weights, and the adapters in a folder on top of it.
struct AdaptedClass {
  Graph graph;
  hf::Model model;
  AdaptedModel adapted;
  Program program{"outputs"};

  AdaptedClass(const std::string& base, const std::string& adapters, const NamedTensors& inputs) {
    const hf::Folder folder = hf::read_folder(base);
    model = hf::build_model(graph, folder.config,
                            hf::input_types(TensorMap(inputs.begin(), inputs.end())));
    Program outputs("outputs");
    for (const auto& [name, value] : model.outputs) outputs.output(name, value);
    const auto store = hf::load_weights(model, graph, folder);
    adapted = add_lora(
        {outputs}, *store,
        hf::match_adapters(hf::read_adapter_folder(adapters), hf::parameter_names(model, graph),
                           {outputs}, *store, model.architecture));
    program = adapted.programs.front();
  }

  Results run(const NamedTensors& inputs) {
    Session session(*adapted.graph, adapted.store, {.threads = 1});
    return session.run(program, inputs);
  }
};

BOOST_AUTO_TEST_CASE(outputs_and_gradients_match_the_reference) {
  for (const auto& [name, base] : {std::pair{"lora-llama3-all-linear", "llama3-rope-biases"},
                                   {"lora-qwen3-rslora-qv", "qwen3-default"}}) {
    BOOST_TEST_CONTEXT(name) {
      const std::string path = kGoldenFolder + name;
      BOOST_TEST(std::filesystem::equivalent(hf::read_adapter_folder(path).base().path,
                                             kGoldenFolder + base));
      const TensorMap tensors = read_safetensors(path + "/inputs.safetensors").tensors;
      const TensorMap expected = read_safetensors(path + "/merged_outputs.safetensors").tensors;
      const json allowed = json::parse(read_whole_file(path + "/tolerance.json"))["suggested"];
      const NamedTensors inputs(tensors.begin(), tensors.end());
      AdaptedClass made(kGoldenFolder + base, path, inputs);
      Value loss;
      for (const auto& [output, value] : made.program.outputs()) {
        if (output == "loss") loss = value;
      }
      const std::vector<Variable> parameters = made.adapted.graph->parameters();
      const std::vector<Value> grads = gradients(loss, parameters);
      for (std::size_t i = 0; i < parameters.size(); ++i)
        made.program.output("grad." + hf::adapter_tensor_name(parameters[i].name(), made.model),
                            grads[i]);
      const Results found = made.run(inputs);
      for (const auto& [output, value] : expected) {
        BOOST_TEST_CONTEXT(output) {
          const char* kind = output == "loss"              ? "loss_rel"
                             : output.starts_with("grad.") ? "grad_rel_to_own_param_max"
                                                           : "forward_rel_to_max";
          Tensor reference = value, actual = found[output];
          if (output == "logits" || output == "last_hidden_state") {
            // Rows of padding tokens are undefined.
            const Tensor mask = tensors.at("attention_mask");
            const std::int64_t row = reference.numel() / mask.numel();
            reference = reference.clone();
            actual = actual.clone();
            for (std::int64_t i = 0; i < mask.numel(); ++i) {
              if (mask.at(i) != 0) continue;
              std::fill_n(reference.mutable_data<float>() + i * row, row, 0.0f);
              std::fill_n(actual.mutable_data<float>() + i * row, row, 0.0f);
            }
          }
          BOOST_TEST(largest_error(actual, reference) <= allowed[kind].get<double>());
        }
      }
    }
  }
}

json decoder_config(const std::string& type) {
  if (type == "gpt2" || type == "openai-gpt") {
    return {{"model_type", type},
            {"architectures", {type == "gpt2" ? "GPT2LMHeadModel" : "OpenAIGPTLMHeadModel"}},
            {"vocab_size", kTinyVocab},
            {"n_embd", 16},
            {"n_layer", 2},
            {"n_head", 2},
            {"n_positions", 40},
            {"initializer_range", 0.4}};
  }
  const std::map<std::string, std::string> classes = {{"gpt_neox", "GPTNeoXForCausalLM"},
                                                      {"llama", "LlamaForCausalLM"},
                                                      {"mistral", "MistralForCausalLM"},
                                                      {"qwen3", "Qwen3ForCausalLM"}};
  json config = {{"model_type", type},       {"architectures", {classes.at(type)}},
                 {"vocab_size", kTinyVocab}, {"hidden_size", 32},
                 {"num_hidden_layers", 2},   {"num_attention_heads", 4},
                 {"intermediate_size", 48},  {"max_position_embeddings", 64},
                 {"initializer_range", 0.4}};
  if (type != "gpt_neox") config["num_key_value_heads"] = 2;
  return config;
}

json encoder_decoder_config(const std::string& type, const std::string& architecture) {
  json config = {{"model_type", type},         {"architectures", {architecture}},
                 {"vocab_size", kTinyVocab},   {"d_model", 16},
                 {"pad_token_id", 0},          {"eos_token_id", 2},
                 {"decoder_start_token_id", 0}};
  if (type == "t5gemma") {
    config.erase("d_model");
    config["encoder"] = {{"vocab_size", kTinyVocab},
                         {"hidden_size", 16},
                         {"intermediate_size", 24},
                         {"num_hidden_layers", 2},
                         {"num_attention_heads", 2},
                         {"num_key_value_heads", 1},
                         {"head_dim", 6},
                         {"initializer_range", 0.4}};
    return config;
  }
  if (type == "pegasus_x") config.update({{"block_size", 4}, {"num_global_tokens", 2}});
  if (type.ends_with("t5") || type == "switch_transformers") {
    config.update({{"d_kv", 8},
                   {"d_ff", 32},
                   {"num_layers", 2},
                   {"num_heads", 2},
                   {"initializer_factor", 2.0}});
  } else {
    config.update({{"encoder_layers", 2},
                   {"decoder_layers", 1},
                   {"encoder_attention_heads", 2},
                   {"decoder_attention_heads", 4},
                   {"encoder_ffn_dim", 32},
                   {"decoder_ffn_dim", 24},
                   {"init_std", 0.4}});
    if (type == "whisper") {
      config.update(
          {{"num_mel_bins", 4}, {"max_source_positions", 6}, {"max_target_positions", 64}});
    } else {
      config["max_position_embeddings"] = 64;
    }
  }
  return config;
}

/// All families, and all heads of one encoder.
std::vector<json> all_configs() {
  std::vector<json> configs;
  for (const char* type : {"gpt2", "openai-gpt", "gpt_neox", "llama", "mistral", "qwen3"})
    configs.push_back(decoder_config(type));
  for (const std::string& type : encoder_types()) {
    // Files of GTE keep gates and ups in one matrix, and adapters of only one of them have no name.
    if (type != "new") configs.push_back(tiny_config(type, class_prefix(type) + "ForMaskedLM"));
  }
  for (const char* head : {"Model", "ForTokenClassification", "ForQuestionAnswering"})
    configs.push_back(tiny_config("bert", class_prefix("bert") + head));
  for (const char* type : {"bert", "roberta", "distilbert"})
    configs.push_back(tiny_config(type, class_prefix(type) + "ForSequenceClassification"));
  for (const auto& [type, name] :
       {std::pair{"t5", "T5ForConditionalGeneration"},
        {"mt5", "MT5ForConditionalGeneration"},
        {"bart", "BartForConditionalGeneration"},
        {"mbart", "MBartForConditionalGeneration"},
        {"pegasus", "PegasusForConditionalGeneration"},
        {"marian", "MarianMTModel"},
        {"umt5", "UMT5ForConditionalGeneration"},
        {"m2m_100", "M2M100ForConditionalGeneration"},
        {"blenderbot", "BlenderbotForConditionalGeneration"},
        {"switch_transformers", "SwitchTransformersForConditionalGeneration"},
        {"longt5", "LongT5ForConditionalGeneration"},
        {"pegasus_x", "PegasusXForConditionalGeneration"},
        {"t5gemma", "T5GemmaForConditionalGeneration"},
        {"whisper", "WhisperForConditionalGeneration"},
        {"bart", "BartForSequenceClassification"}})
    configs.push_back(encoder_decoder_config(type, name));
  for (const auto& [type, name] : testing::image_classes())
    configs.push_back(testing::vision_config(type, name));
  return configs;
}

/// Adds random adapters to all matrices of a model.
void adapt(TrainedModel& model, const LoraOptions& options) {
  add_adapters(model, options);
  Session session(*model.graph, model.store, {.seed = 7, .threads = 1});
  session.initialise();
  std::uint64_t seed = 0;
  for (const Variable& variable : model.graph->parameters()) {
    const Sizes sizes = session.value(variable.name()).sizes();
    session.set_value(variable.name(), sample_uniform(sizes, ++seed).to(DType::f32));
  }
}

BOOST_AUTO_TEST_CASE(adapters_of_every_family_are_written_read_and_merged) {
  for (const json& config : all_configs()) {
    const std::string architecture = config["architectures"][0];
    BOOST_TEST_CONTEXT(architecture) {
      const TinyFolder base(config, !config.contains("image_size"));
      if (config.contains("image_size")) {
        base.write(
            "preprocessor_config.json",
            R"({"image_mean": [0.5], "image_std": [0.25], "do_resize": true, "do_center_crop": false,
                       "resample": 2, "size": {"height": 4, "width": 4}})");
      }
      const std::string folder = base.beside("adapters"), merged = base.beside("merged");
      auto model = load_any_model(base.path()).model;
      adapt(*model, {.rank = 2, .alpha = 3});
      save_adapter_folder(folder, *model, base.path());
      // Through the names of the class, without merging.
      const NamedTensors inputs = inputs_for(config.dump());
      AdaptedClass made(base.path(), folder, inputs);
      const Results unmerged = made.run(inputs);
      // Through the model of a task, merged.
      LoadedModel loaded = load_base_model(base.path(), folder);
      const TrainedAdapters read = read_adapters(folder, *loaded.model, loaded.task);
      merge_lora(loaded.model->all_programs(), *loaded.model->store, read.values);
      for (const auto& [name, value] : read.parameters) loaded.model->store->set(name, value);
      save_folder(merged, *loaded.model);
      Graph graph;
      const hf::Folder whole = hf::read_folder(merged), plain = hf::read_folder(base.path());
      const hf::Model again = hf::build_model(
          graph, whole.config, hf::input_types(TensorMap(inputs.begin(), inputs.end())));
      Program program("outputs");
      for (const auto& [name, value] : again.outputs) program.output(name, value);
      const auto outputs = [&](const hf::Folder& from) {
        Session session(graph, hf::load_weights(again, graph, from), {.threads = 1});
        return session.run(program, inputs);
      };
      const Results after = outputs(whole), before = outputs(plain);
      bool changed = false;
      for (const auto& [name, value] : again.outputs) {
        BOOST_TEST_CONTEXT(name) {
          BOOST_TEST(largest_error(unmerged[name], after[name]) < 2e-5);
          changed |= largest_error(unmerged[name], before[name]) > 1e-2;
        }
      }
      BOOST_TEST(changed);
      // A model that is loaded from the adapter folder has the same adapters.
      const auto opened = load_any_model(folder).model;
      BOOST_TEST_REQUIRE(opened->lora.has_value());
      BOOST_TEST(opened->lora->rank == 2);
      for (const auto& [name, adapter] : lora_adapters(*opened).adapters)
        BOOST_TEST(bitwise_equal(adapter.a, lora_adapters(*model).adapters.at(name).a));
    }
  }
}

/// A LLaMA folder with adapters of rank 4 on its queries and values.
class LlamaAdapters {
 public:
  explicit LlamaAdapters(const json& changes = json::object()) : base_(config(changes), false) {
    for (int layer = 0; layer < 2; ++layer) {
      for (const char* name : {"q_proj", "v_proj"}) {
        const std::int64_t outputs = name[0] == 'q' ? 32 : 16;
        const std::string module =
            kFrontOfNames + "model.layers." + std::to_string(layer) + ".self_attn." + name;
        tensors[module + ".lora_A.weight"] =
            sample_uniform({4, 32}, static_cast<std::uint64_t>(layer)).to(DType::f32);
        tensors[module + ".lora_B.weight"] =
            sample_uniform({outputs, 4}, static_cast<std::uint64_t>(layer + 5)).to(DType::f32);
      }
    }
  }

  json settings = {
      {"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}, {"target_modules", {"q_proj", "v_proj"}}};
  TensorMap tensors;

  std::string base() const { return base_.path(); }
  std::string beside(const std::string& name) const { return base_.beside(name); }
  std::string write(const json& changes = json::object()) const {
    json all = settings;
    all.update(changes);
    const std::string path = base_.beside("adapters");
    std::filesystem::create_directories(path);
    write_safetensors(path + "/" + hf::kAdapterTensorsFile, tensors);
    base_.write("../adapters/adapter_config.json", all.dump());
    return path;
  }
  TrainedAdapters read(const json& changes = json::object()) const {
    const LoadedModel loaded = load_any_model(base());
    return read_adapters(write(changes), *loaded.model, loaded.task);
  }

 private:
  static json config(const json& changes) {
    json all = decoder_config("llama");
    all.update(changes);
    return all;
  }
  TinyFolder base_;
};

/// Returns the scale of every adapter by matrix name.
std::map<std::string, double> scales(const TrainedAdapters& adapters) {
  std::map<std::string, double> result;
  for (const auto& [name, adapter] : adapters.values.adapters)
    result[name] = adapters.values.scale_of(adapter);
  return result;
}

constexpr const char *kQuery0 = "transformer.h.0.attn.query.weight",
                     *kValue1 = "transformer.h.1.attn.value.weight";

BOOST_AUTO_TEST_CASE(settings_select_the_modules_ranks_and_scales) {
  LlamaAdapters files;
  BOOST_TEST(scales(files.read()).at(kQuery0) == 2.0);
  BOOST_TEST(scales(files.read({{"use_rslora", true}})).at(kQuery0) == 4.0);
  for (const json& selection :
       {json{{"target_modules", "all-linear"}}, json{{"target_modules", nullptr}},
        json{{"target_modules", R"(.*\.self_attn\.(q|v)_proj)"}},
        json{{"target_modules", {"q_proj", "k_proj", "v_proj"}}, {"exclude_modules", {"k_proj"}}},
        json{{"target_modules", {"q_proj", "k_proj", "v_proj"}},
             {"exclude_modules", R"(.*k_pro.)"}},
        json{{"layers_to_transform", {0, 1}}, {"layers_pattern", "layers"}},
        json{{"layers_to_transform", {1, 0}}}})
    BOOST_TEST(files.read(selection).values.adapters.size() == 4U);
  // The first pattern that matches applies, in the order of the file.
  json alphas = json::object();
  alphas["layers.0.self_attn.q_proj"] = 16;
  const auto found = scales(files.read({{"alpha_pattern", alphas}}));
  BOOST_TEST(found.at(kQuery0) == 4.0);
  BOOST_TEST(found.at(kValue1) == 2.0);
  files.write();
  testing::check_error<ArgumentError>(
      [&] {
        files.read({{"target_modules", "self_attn.(q"}});
      },
      {"target_modules contains"});
  const std::string text =
      R"({"peft_type": "LORA", "alpha_pattern": {"v_proj": 16, "self_attn.v_proj": 32}})";
  BOOST_TEST(hf::read_adapter_config(text, "c").shape("model.layers.0.self_attn.v_proj").alpha ==
             16);
  const std::string reversed =
      R"({"peft_type": "LORA", "alpha_pattern": {"self_attn.v_proj": 32, "v_proj": 16}})";
  BOOST_TEST(
      hf::read_adapter_config(reversed, "c").shape("model.layers.0.self_attn.v_proj").alpha == 32);
  BOOST_TEST(hf::read_adapter_config(text, "c").shape("model.layers.0.self_attn.xv_proj").alpha ==
             8);
  // Ranks of single matrices.
  const std::string query = kFrontOfNames + "model.layers.0.self_attn.q_proj.lora_";
  files.tensors[query + "A.weight"] = sample_uniform({3, 32}, 1).to(DType::f32);
  files.tensors[query + "B.weight"] = sample_uniform({32, 3}, 2).to(DType::f32);
  const auto ranks = files.read({{"rank_pattern", {{"^model.layers.0.self_attn.q_proj", 3}}}});
  BOOST_TEST(ranks.options.shape(kQuery0).rank == 3);
  BOOST_TEST(ranks.options.shape(kValue1).rank == 4);
  BOOST_TEST(std::abs(scales(ranks).at(kQuery0) - 8.0 / 3) < 1e-12);
  testing::check_error<FormatError>(
      [&] { files.read(); }, {"has the sizes [3, 32], but the rank and the model require [4, 32]"});
}

BOOST_AUTO_TEST_CASE(every_key_is_applied_ignored_or_rejected_by_name) {
  const LlamaAdapters files;
  const json harmless = {{"auto_mapping", nullptr},
                         {"base_model_name_or_path", "somewhere"},
                         {"bias", "none"},
                         {"corda_config", nullptr},
                         {"eva_config", {{"rho", 2}}},
                         {"exclude_modules", nullptr},
                         {"fan_in_fan_out", true},
                         {"inference_mode", false},
                         {"init_lora_weights", "gaussian"},
                         {"layer_replication", nullptr},
                         {"layers_pattern", nullptr},
                         {"loftq_config", json::object()},
                         {"lora_bias", false},
                         {"lora_dropout", 0.05},
                         {"megatron_config", nullptr},
                         {"megatron_core", "megatron.core"},
                         {"modules_to_save", nullptr},
                         {"peft_version", "0.19.0"},
                         {"qalora_group_size", 16},
                         {"rank_pattern", json::object()},
                         {"revision", "main"},
                         {"target_parameters", json::array()},
                         {"task_type", "CAUSAL_LM"},
                         {"trainable_token_indices", nullptr},
                         {"use_dora", false},
                         {"use_qalora", false},
                         {"ensure_weight_tying", false}};
  BOOST_TEST(files.read(harmless).options.dropout == 0.05);
  const json rejected = {{"use_dora", true},
                         {"lora_bias", true},
                         {"use_qalora", true},
                         {"use_bdlora", {{"nblocks", 2}}},
                         {"alora_invocation_tokens", {1, 2}},
                         {"arrow_config", {{"top_k", 2}}},
                         {"kasa_config", {{"beta", 1}}},
                         {"velora_config", {{"x", 1}}},
                         {"layer_replication", {{0, 1}}},
                         {"target_parameters", {"experts.down_proj"}},
                         {"trainable_token_indices", {1, 2}},
                         {"init_lora_weights", "pissa"},
                         {"peft_type", "IA3"},
                         {"bias", "some"},
                         {"r", 0},
                         {"lora_alpha", -1},
                         {"lora_dropout", 1.5},
                         {"next_years_key", 3}};
  for (const auto& [key, value] : rejected.items()) {
    BOOST_TEST_CONTEXT(key) {
      testing::check_error<ArgumentError>([&] { files.read({{key, value}}); }, {key});
    }
  }
  testing::check_error<FormatError>([&] { files.read({{"r", "many"}}); }, {"'r' must be"});
}

BOOST_AUTO_TEST_CASE(missing_unexpected_and_misshapen_tensors_are_listed_in_one_error) {
  LlamaAdapters files;
  const std::string front = kFrontOfNames + "model.layers.";
  files.tensors.erase(front + "0.self_attn.q_proj.lora_B.weight");
  files.tensors.erase(front + "1.self_attn.v_proj.lora_A.weight");
  files.tensors.erase(front + "1.self_attn.v_proj.lora_B.weight");
  const auto tensor = [](const Sizes& sizes) { return Tensor::zeros(DType::f32, sizes); };
  files.tensors[front + "7.self_attn.q_proj.lora_A.weight"] = tensor({4, 32});
  files.tensors[front + "7.self_attn.q_proj.lora_B.weight"] = tensor({32, 4});
  files.tensors[front + "0.self_attn.k_proj.lora_A.weight"] = tensor({4, 32});
  files.tensors[front + "0.self_attn.k_proj.lora_B.weight"] = tensor({16, 4});
  files.tensors[front + "0.self_attn.v_proj.lora_B.weight"] = tensor({99, 4});
  files.tensors[front + "0.mlp.lora_magnitude_vector"] = tensor({3});
  std::string message;
  try {
    files.read();
  } catch (const FormatError& e) {
    message = e.what();
  }
  for (const char* part :
       {"do not fit the model, a LlamaForCausalLM",
        "missing: 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight'",
        "missing: 'base_model.model.model.layers.1.self_attn.v_proj.lora_A.weight'",
        "layers.7.self_attn.q_proj.lora_A.weight': the model has no such module",
        "layers.0.self_attn.k_proj.lora_A.weight': the config does not select this module",
        "has the sizes [99, 4], but the rank and the model require [16, 4]",
        "lora_magnitude_vector': the model has no such module or parameter"})
    BOOST_TEST(message.find(part) != std::string::npos, part << " is not in " << message);
}

BOOST_AUTO_TEST_CASE(narrow_floats_are_widened_and_other_values_rejected) {
  LlamaAdapters files;
  const TrainedAdapters before = files.read();
  for (auto& [name, tensor] : files.tensors) tensor = tensor.to(DType::bf16);
  const TrainedAdapters after = files.read();
  BOOST_TEST(largest_error(after.values.adapters.at(kQuery0).a,
                           before.values.adapters.at(kQuery0).a) < 0.005);
  files.tensors.begin()->second = Tensor::full(DType::f32, {4, 32}, NAN);
  testing::check_error<FormatError>([&] { files.read(); }, {"holds values that are not finite"});
}

BOOST_AUTO_TEST_CASE(whole_modules_and_biases_replace_those_of_the_model) {
  LlamaAdapters files(json{{"attention_bias", true}});
  const Tensor head = sample_uniform({kTinyVocab, 32}, 8).to(DType::f32);
  const Tensor bias = sample_uniform({32}, 9).to(DType::f32);
  files.tensors[kFrontOfNames + "lm_head.weight"] = head;
  files.tensors[kFrontOfNames + "model.layers.0.self_attn.q_proj.base_layer.bias"] = bias;
  const json settings = {{"modules_to_save", {"lm_head"}}, {"bias", "lora_only"}};
  const TrainedAdapters read = files.read(settings);
  // All biases of modules with adapters are trained, also those that the folder lacks.
  BOOST_TEST(read.parameters.size() == 5U);
  BOOST_TEST(bitwise_equal(read.parameters.at("lm_head.weight"), head));
  // They are written as the same modules and biases, and are trained.
  const auto model = load_adapted_model(files.base(), files.write(settings)).model;
  const std::string again = files.beside("again");
  save_adapter_folder(again, *model, files.base());
  const json written = json::parse(read_whole_file(again + "/adapter_config.json"));
  BOOST_TEST(written["modules_to_save"] == json({"lm_head"}));
  BOOST_TEST(written["bias"] == "lora_only");
  BOOST_TEST(written["target_modules"] == json({"q_proj", "v_proj"}));
  BOOST_TEST(written["r"] == 4);
  BOOST_TEST(written["lora_alpha"] == 8);
  const TensorMap tensors = read_safetensors(again + "/adapter_model.safetensors").tensors;
  BOOST_TEST(tensors.size() == files.tensors.size() + 3);
  for (const auto& [name, tensor] : files.tensors)
    BOOST_TEST((tensors.contains(name) && bitwise_equal(tensors.at(name), tensor)), name);
  files.tensors.erase(kFrontOfNames + "lm_head.weight");
  testing::check_error<FormatError>([&] { files.read(settings); },
                                    {"missing: 'base_model.model.lm_head.weight'"});
}

BOOST_AUTO_TEST_CASE(lookups_have_adapters_but_tied_tables_cannot_be_merged) {
  for (const bool tied : {false, true}) {
    LlamaAdapters files(json{{"tie_word_embeddings", tied}});
    const std::string table = kFrontOfNames + "model.embed_tokens.lora_embedding_";
    files.tensors[table + "A"] = sample_uniform({4, kTinyVocab}, 3).to(DType::f32);
    files.tensors[table + "B"] = sample_uniform({32, 4}, 4).to(DType::f32);
    const std::string path =
        files.write({{"target_modules", {"q_proj", "v_proj", "embed_tokens"}}});
    const NamedTensors inputs = inputs_for(hf::read_folder(files.base()).config);
    AdaptedClass made(files.base(), path, inputs);
    LoadedModel loaded = load_any_model(files.base());
    const TrainedAdapters read = read_adapters(path, *loaded.model, loaded.task);
    BOOST_TEST(read.values.lookups.size() == 1U);
    const auto merge = [&] {
      merge_lora(loaded.model->all_programs(), *loaded.model->store, read.values);
    };
    if (tied) {
      testing::check_error<ArgumentError>(merge, {"changes only its lookups"});
      // Output layers of tied models have separate adapters as well.
      const std::string again = files.beside("again");
      const auto model = load_adapted_model(files.base(), path).model;
      save_adapter_folder(again, *model, files.base());
      const TensorMap tensors = read_safetensors(again + "/adapter_model.safetensors").tensors;
      BOOST_TEST(bitwise_equal(tensors.at(table + "A"), files.tensors.at(table + "A")));
      continue;
    }
    merge();
    save_folder(files.beside("merged"), *loaded.model);
    AdaptedClass plain(files.base(), path, inputs);
    const TensorMap merged = testing::outputs_of(hf::read_folder(files.beside("merged")));
    BOOST_TEST(largest_error(made.run(inputs)["logits"], merged.at("logits")) < 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(adapters_run_on_quantised_weights) {
  const LlamaAdapters files;
  const std::string path = files.write();
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int4}) {
    BOOST_TEST_CONTEXT(weight_format_name(format)) {
      const LoadedModel loaded = load_any_model(files.base());
      TrainedModel& model = *loaded.model;
      const QuantizedModel small =
          quantize(model.all_programs(), *model.store, {.weights = format});
      model.replace_programs(small.graph, small.programs);
      model.store = small.store;
      const TrainedAdapters adapters = read_adapters(path, model, loaded.task);
      const auto merged = loaded.model->clone();
      const QuantizedModel floats = dequantize(model.all_programs(), *model.store);
      merged->replace_programs(floats.graph, floats.programs);
      merged->store = floats.store;
      merge_lora(merged->all_programs(), *merged->store, adapters.values);
      add_adapters(model, adapters);
      BOOST_TEST(!quantized_weights(*model.graph).empty());
      const auto losses = [](const TrainedModel& of) {
        Session session(*of.graph, of.store, {.threads = 1});
        return session.run(
            of.program("score"),
            {{"tokens", Tensor::of<std::int32_t>({1, 5}, {7, 12, 9, 15, 1})},
             {"targets", Tensor::of<std::int32_t>({1, 5}, {12, 9, 15, 1, 3})}})["losses"];
      };
      BOOST_TEST(largest_error(losses(model), losses(*merged)) < 1e-3);
    }
  }
}

BOOST_AUTO_TEST_CASE(adapters_bring_the_head_that_their_base_model_lacks) {
  json config = tiny_config("bert", "BertForSequenceClassification");
  config["id2label"] = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  const TinyFolder whole(config);
  const LoadedModel classifier = load_any_model(whole.path());
  adapt(*classifier.model, {.rank = 2, .alpha = 3});
  const TensorMap all = hf::read_folder(whole.path()).weights;
  const NamedTensors inputs = inputs_for(config.dump());
  save_adapter_folder(whole.beside("adapters"), *classifier.model, whole.path());
  const Tensor expected =
      AdaptedClass(whole.path(), whole.beside("adapters"), inputs).run(inputs)["logits"];
  for (const char* head : {"BertModel", "BertForPreTraining"}) {
    BOOST_TEST_CONTEXT(head) {
      const TinyFolder base(tiny_config("bert", head));
      TensorMap weights = hf::read_folder(base.path()).weights;
      for (auto& [name, tensor] : weights) {
        for (const std::string& other : {name, "bert." + name}) {
          if (all.contains(other)) tensor = all.at(other).clone();
        }
      }
      write_safetensors(base.path("model.safetensors"), weights, {{"format", "pt"}});
      const std::string folder = base.beside("adapters");
      save_adapter_folder(folder, *classifier.model, base.path());
      const LoadedModel read = load_any_model(folder);
      BOOST_TEST(read.task.info().id == "text-classification");
      LoadedModel merged = load_base_model(base.path(), folder);
      const TrainedAdapters adapters = read_adapters(folder, *merged.model, merged.task);
      merge_lora(merged.model->all_programs(), *merged.model->store, adapters.values);
      save_folder(base.beside("merged"), *merged.model);
      const TensorMap found = testing::outputs_of(hf::read_folder(base.beside("merged")));
      BOOST_TEST(largest_error(found.at("logits"), expected) < 2e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(embeddings_of_an_adapted_encoder_use_the_adapters) {
  const TinyFolder base("bert", "ForMaskedLM");
  const LoadedModel adapted = load_any_model(base.path());
  adapt(*adapted.model, {.rank = 2, .alpha = 3});
  const LoadedModel merged = load_any_model(base.path());
  const auto vectors = [](const TrainedModel& model) {
    const auto encoder = text_encoder(model);
    Session session(*encoder->graph, encoder->store, {.threads = 1});
    return session.run(encoder->program("mean"),
                       {{"tokens", Tensor::of<std::int32_t>({1, 4}, {2, 7, 9, 3})},
                        {"mask", Tensor::of<std::int32_t>({1, 4}, {1, 1, 1, 1})}})["vectors"];
  };
  const Tensor before = vectors(*merged.model);
  LoraAdapters values = lora_adapters(*adapted.model);
  merge_lora(merged.model->all_programs(), *merged.model->store, values);
  BOOST_TEST(largest_error(vectors(*adapted.model), vectors(*merged.model)) < 2e-5);
  BOOST_TEST(largest_error(vectors(*adapted.model), before) > 1e-2);
}

BOOST_AUTO_TEST_CASE(a_base_that_is_not_local_is_named_with_a_remedy) {
  const LlamaAdapters files;
  const std::string path = files.write({{"base_model_name_or_path", "meta-llama/Llama-3.2-1B"}});
  testing::check_error<IoError>([&] { load_any_model(path); },
                                {"\"meta-llama/Llama-3.2-1B\", which is not a local file"});
  // Relative to the adapter folder.
  const auto model = load_any_model(files.write({{"base_model_name_or_path", "../folder"}})).model;
  BOOST_TEST(model->lora.has_value());
  testing::check_error<FormatError>(
      [&] {
        load_any_model(files.write({{"base_model_name_or_path", files.beside("adapters")}}));
      },
      {"it cannot be the base model"});
}

BOOST_AUTO_TEST_CASE(options_of_single_matrices_survive_in_files) {
  LoraOptions options{.rank = 4, .alpha = 8, .dropout = 0.1};
  BOOST_TEST(lora_json(options) == lora_fields().to_json(options));
  options.rank_stabilised = true;
  options.shapes["a.weight"] = {2, 5};
  options.lookups["table"] = {3, 6};
  options.base_model = "base/";
  const LoraOptions read = parse_lora(lora_json(options));
  BOOST_TEST(read.rank_stabilised);
  BOOST_TEST((read.shapes == options.shapes));
  BOOST_TEST((read.lookups == options.lookups));
  BOOST_TEST(read.base_model == "base/");
  BOOST_TEST(read.dropout == 0.1);
  testing::check_error<FormatError>(
      [] {
        parse_lora(R"({"rank": 1, "alpha": 1, "dropout": 0, "matrices": {"x": {"rank": 2}}})");
      },
      {"must contain a rank and an alpha for x"});
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
