// Folders with bf16 weights: decoders read their matrices in place, with the results of f32 copies,
// and all commands accept them.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "folder_round_trip.h"
#include "weft/core/error.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(bf16_folders)
namespace {

using nlohmann::json;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

json config_of(const std::string& type, const std::string& architecture, bool tied) {
  json config = {{"model_type", type},
                 {"architectures", {architecture}},
                 {"vocab_size", testing::kFolderVocab},
                 {"initializer_range", 0.4},
                 {"torch_dtype", "bfloat16"},
                 {"tie_word_embeddings", tied}};
  if (type == "gpt2") {
    config.update({{"n_embd", 16}, {"n_layer", 2}, {"n_head", 2}, {"n_positions", 48}});
  } else {
    config.update({{"hidden_size", 16},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"intermediate_size", 40},
                   {"max_position_embeddings", 64}});
  }
  return config;
}

/// Writes a model with weights of this dtype, in `shards` files with an index if there are several.
void write_folder(const TemporaryFolder& folder, const json& config, DType dtype = DType::bf16,
                  int shards = 1) {
  testing::write_model(folder.path(), config);
  folder.write("tokenizer.json", testing::tokenizer_json({"<unk>", "<s>", "</s>"}, {{"<s>"}, {}}));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "LlamaTokenizer",
                   "clean_up_tokenization_spaces": false})");
  std::vector<TensorMap> parts(static_cast<std::size_t>(shards));
  json map;
  std::size_t next = 0;
  const TensorMap tensors = read_tensors(folder.path());
  for (const auto& [name, tensor] : tensors) {
    const std::size_t part = next++ % parts.size();
    parts[part][name] = tensor.to(DType::bf16).to(dtype);
    map[name] = "model-" + std::to_string(part) + ".safetensors";
  }
  if (shards == 1) {
    write_safetensors(folder.path("model.safetensors"), parts[0], {{"format", "pt"}});
    return;
  }
  fs::remove(folder.path("model.safetensors"));
  for (std::size_t i = 0; i < parts.size(); ++i)
    write_safetensors(folder.path("model-" + std::to_string(i) + ".safetensors"), parts[i]);
  folder.write("model.safetensors.index.json", json{{"weight_map", map}}.dump());
}

Results run(const TrainedModel& model, const char* program) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 12; ++i) ids.push_back(i * 7 % 23);
  Session session(*model.graph, model.store, {.threads = 1});
  return session.run(model.program(program),
                     {{"tokens", Tensor::of({1, 11}, std::vector(ids.begin(), ids.end() - 1))},
                      {"targets", Tensor::of({1, 11}, std::vector(ids.begin() + 1, ids.end()))}});
}

Tensor losses(const TrainedModel& model) { return run(model, "score")["losses"]; }

double difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)) / (1 + std::abs(b.at(i))));
  return worst;
}

std::map<DType, int> matrices_by_dtype(const TrainedModel& model) {
  std::map<DType, int> count;
  for (const std::string& name : model.store->names()) {
    const Tensor tensor = model.store->tensor(name);
    if (tensor.rank() == 2) ++count[tensor.dtype()];
  }
  return count;
}

ModelPath widened(const std::string& path) {
  ModelPath result(path);
  result.widen = true;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(matrices_stay_bf16_and_results_equal_those_of_f32_copies) {
  for (const char* type : {"llama", "mistral", "qwen3"}) {
    for (const bool tied : {false, true}) {
      for (const int shards : {1, 3}) {
        BOOST_TEST_CONTEXT(type << (tied ? ", tied, " : ", ") << shards << " files") {
          const TemporaryFolder folder("bf16");
          const std::string name = std::string(type) == "llama"     ? "Llama"
                                   : std::string(type) == "mistral" ? "Mistral"
                                                                    : "Qwen3";
          write_folder(folder, config_of(type, name + "ForCausalLM", tied), DType::bf16, shards);
          const auto narrow = load_any_model(folder.path());
          const auto wide = load_any_model(widened(folder.path()));
          const int matrices = 2 * 7 + (tied ? 1 : 2);
          BOOST_TEST(matrices_by_dtype(*narrow.model)[DType::bf16] == matrices);
          BOOST_TEST(matrices_by_dtype(*narrow.model)[DType::f32] == 0);
          BOOST_TEST(matrices_by_dtype(*wide.model)[DType::f32] == matrices);
          BOOST_TEST(matrices_by_dtype(*wide.model)[DType::bf16] == 0);
          BOOST_TEST(difference(losses(*narrow.model), losses(*wide.model)) < 2e-6);
          BOOST_TEST(difference(run(*narrow.model, "evaluate")["loss"],
                                run(*wide.model, "evaluate")["loss"]) < 2e-6);
          GenerationOptions options;
          options.max_new = 8;
          std::vector<std::vector<TokenIds>> written;
          for (const LoadedModel* loaded : {&narrow, &wide}) {
            Session session(*loaded->model->graph, loaded->model->store, {.threads = 1});
            written.push_back(text_generator(session, *loaded->model)
                                  ->decode({{1, 5, 9}}, options)
                                  .run()
                                  .sequences);
          }
          BOOST_TEST((written[0] == written[1]));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(matrices_are_views_of_the_mapped_file) {
  const TemporaryFolder folder("bf16");
  write_folder(folder, config_of("llama", "LlamaForCausalLM", false));
  const auto loaded = load_any_model(folder.path());
  const std::string path = folder.path("model.safetensors");
  const TensorMap before = read_tensors(path);
  const Tensor weight = loaded.model->store->tensor("transformer.h.0.mlp.c_proj.weight");
  BOOST_TEST(bitwise_equal(weight, before.at("model.layers.0.mlp.down_proj.weight")));
  // A change of the file in place is visible in the model, so nothing was copied.
  std::string bytes = read_whole_file(path);
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(weight.raw()),
                                                std::min<std::size_t>(64, weight.bytes())));
  BOOST_TEST_REQUIRE(at != std::string::npos);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.put('\x12');
  file.close();
  BOOST_TEST((weight.raw()[0] == std::byte{0x12}));
}

BOOST_AUTO_TEST_CASE(other_dtypes_and_layouts_become_f32) {
  const TemporaryFolder halves("bf16"), transposed("bf16"), floats("bf16");
  write_folder(halves, config_of("llama", "LlamaForCausalLM", true), DType::f16);
  write_folder(floats, config_of("llama", "LlamaForCausalLM", true), DType::f32);
  write_folder(transposed, config_of("gpt2", "GPT2LMHeadModel", true));
  BOOST_TEST(matrices_by_dtype(*load_any_model(halves.path()).model)[DType::f32] == 15);
  BOOST_TEST(matrices_by_dtype(*load_any_model(floats.path()).model)[DType::f32] == 15);
  BOOST_TEST(bitwise_equal(losses(*load_any_model(halves.path()).model),
                           losses(*load_any_model(floats.path()).model)));
  // The matrices of GPT-2 are [inputs, outputs]; its tables are read in place.
  const auto gpt2 = load_any_model(transposed.path());
  BOOST_TEST(matrices_by_dtype(*gpt2.model)[DType::f32] == 8);
  BOOST_TEST(difference(losses(*gpt2.model),
                        losses(*load_any_model(widened(transposed.path())).model)) < 2e-6);
}

BOOST_AUTO_TEST_CASE(bf16_folders_round_trip_with_the_same_bits) {
  for (const char* type : {"llama", "gpt2"}) {
    BOOST_TEST_CONTEXT(type) {
      const TemporaryFolder folder("bf16");
      write_folder(
          folder,
          config_of(type, std::string(type) == "llama" ? "LlamaForCausalLM" : "GPT2LMHeadModel",
                    true));
      testing::check_round_trip(folder.path(), {"the grand old duke of york"});
    }
  }
}

BOOST_AUTO_TEST_CASE(bf16_classifiers_read_their_matrices_in_place) {
  const TemporaryFolder folder("bf16");
  json config = config_of("llama", "LlamaForSequenceClassification", false);
  config.update({{"pad_token_id", 0}, {"id2label", {{"0", "bad"}, {"1", "good"}}}});
  write_folder(folder, config);
  const auto narrow = load_any_model(folder.path()), wide = load_any_model(widened(folder.path()));
  BOOST_TEST(matrices_by_dtype(*narrow.model)[DType::bf16] == 16);
  const Shell weft;
  const Outcome outcome = weft("classify " + folder.path() + " 'the grand old duke'");
  BOOST_TEST(outcome.code == 0, outcome.err);
  testing::check_round_trip(folder.path(), {"the grand old duke of york"});
}

BOOST_AUTO_TEST_CASE(every_command_accepts_bf16_folders) {
  const Shell weft;
  const TemporaryFolder folder("bf16"), floats("bf16");
  write_folder(folder, config_of("llama", "LlamaForCausalLM", false));
  write_folder(floats, config_of("llama", "LlamaForCausalLM", false), DType::f32);
  const auto succeeds = [&](const std::string& arguments) {
    const Outcome outcome = weft(arguments);
    BOOST_TEST_REQUIRE(outcome.code == 0, arguments << ": " << outcome.err);
    return outcome.out;
  };
  const std::string data =
      " --text " + weft.path("text.txt") + " --steps 2 --warmup 1 --batch 2 --threads 2 --out ";
  for (const char* command : {"generate ", "generate --verify "})
    BOOST_TEST(succeeds(command + folder.path() + " --prompt the --tokens 4") ==
               succeeds(command + floats.path() + " --prompt the --tokens 4"));
  succeeds("score " + folder.path() + " --input " + weft.write("line.txt", "the grand old duke\n"));
  BOOST_TEST(contains(succeeds("inspect " + folder.path()),
                      "a LlamaForCausalLM (model_type \"llama\")\n  bf16       21 tensors, "));
  BOOST_TEST(contains(succeeds("inspect " + folder.path() + " --variables --verify"),
                      "model.layers.1.mlp.up_proj.weight\n"));
  check_error(weft("inspect " + folder.path() + " --graph"), 2,
              "--graph, --programs and --split are for .weft files; ");
  // Fine-tuning starts from the same f32 weights, whether it starts from the folder or its file.
  succeeds("convert " + folder.path() + " --out " + weft.path("file.weft"));
  BOOST_TEST(fs::file_size(weft.path("file.weft")) <
             fs::file_size(floats.path("model.safetensors")) + 20'000);
  for (const std::string& from : {folder.path(), weft.path("file.weft"), floats.path()})
    succeeds("train gpt --from " + from + data +
             weft.path(fs::path(from).filename().string() + ".tuned.weft"));
  const auto tuned = [&](const std::string& from) {
    return losses(
        *load_any_model(weft.path(fs::path(from).filename().string() + ".tuned.weft")).model);
  };
  BOOST_TEST(bitwise_equal(tuned(folder.path()), tuned(floats.path())));
  BOOST_TEST(bitwise_equal(tuned(weft.path("file.weft")), tuned(floats.path())));
  // Quantisation starts from the same weights, too.
  for (const char* weights : {"bf16", "int8", "int4"}) {
    for (const std::string& from : {folder.path(), floats.path()}) {
      succeeds("quantize " + from + " --weights " + weights + " --out " +
               weft.path((from == floats.path() ? "f" : "b") + std::string(weights) + ".weft"));
    }
    BOOST_TEST(bitwise_equal(
        losses(*load_any_model(weft.path("b" + std::string(weights) + ".weft")).model),
        losses(*load_any_model(weft.path("f" + std::string(weights) + ".weft")).model)));
  }
  // Adapters that were trained on the folder fit it in every form, and can be merged.
  succeeds("train gpt --from " + folder.path() + " --lora-rank 2" + data + weft.path("lora.weft"));
  const std::string adapters = weft.path("lora.lora.safetensors");
  BOOST_TEST_REQUIRE(fs::exists(adapters));
  for (const std::string& base : {folder.path(), weft.path("file.weft"), floats.path()}) {
    BOOST_TEST_CONTEXT(base) {
      const auto adapted = load_adapted_model(base, adapters);
      succeeds("merge " + base + " --adapters " + adapters + " --force --out " +
               weft.path("merged.weft"));
      BOOST_TEST(difference(losses(*load_any_model(weft.path("merged.weft")).model),
                            losses(*adapted.model)) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_that_are_not_finite_are_named) {
  const TemporaryFolder folder("bf16");
  write_folder(folder, config_of("llama", "LlamaForCausalLM", false));
  TensorMap tensors = read_tensors(folder.path());
  Tensor damaged = tensors.at("model.layers.1.mlp.up_proj.weight").clone();
  damaged.mutable_data<BFloat16>()[5] = BFloat16{0x7f80};
  tensors["model.layers.1.mlp.up_proj.weight"] = damaged;
  write_safetensors(folder.path("model.safetensors"), tensors);
  testing::check_error<DataError>([&] { load_any_model(folder.path()); },
                                  {"the parameter 'transformer.h.1.mlp.", "is inf at [0, 5]"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
