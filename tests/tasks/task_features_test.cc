// Every task supports all training features. kTinyRuns must contain a minimal configuration for
// each task.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/corruption/denoiser.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/tasks.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/text_files.h"
#include "weft/tests/support/vision_config.h"
#include "weft/tests/training/task_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(task_features)
namespace {

/// Returns the Hugging Face config.json of a tiny model of the family.
nlohmann::json tiny_folder(const std::string& family, std::int64_t vocab) {
  if (family == "gpt") {
    return {{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}},
            {"vocab_size", vocab},  {"n_embd", 16},
            {"n_layer", 1},         {"n_head", 2},
            {"n_positions", 96}};
  }
  if (family == "encoder") {
    return {{"model_type", "bert"},    {"architectures", {"BertModel"}}, {"vocab_size", vocab},
            {"hidden_size", 16},       {"num_hidden_layers", 1},         {"num_attention_heads", 2},
            {"intermediate_size", 32}, {"max_position_embeddings", 32},  {"type_vocab_size", 2}};
  }
  if (family == "seq2seq") {
    return {{"model_type", "t5"},  {"architectures", {"T5ForConditionalGeneration"}},
            {"vocab_size", vocab}, {"d_model", 16},
            {"d_kv", 8},           {"d_ff", 32},
            {"num_layers", 1},     {"num_decoder_layers", 1},
            {"num_heads", 2}};
  }
  if (family == "speech") {
    return {{"model_type", "whisper"},
            {"architectures", {"WhisperForConditionalGeneration"}},
            {"vocab_size", vocab},
            {"d_model", 16},
            {"num_mel_bins", 8},
            {"encoder_layers", 1},
            {"decoder_layers", 1},
            {"encoder_attention_heads", 2},
            {"decoder_attention_heads", 2},
            {"encoder_ffn_dim", 32},
            {"decoder_ffn_dim", 32},
            {"max_source_positions", 10},
            {"max_target_positions", 32},
            {"pad_token_id", 2},
            {"eos_token_id", 2},
            {"decoder_start_token_id", 1}};
  }
  if (family == "swin") return testing::vision_config("swin", "SwinModel");
  if (family == "image-text") {
    const nlohmann::json sizes = {{"hidden_size", 16},
                                  {"num_hidden_layers", 1},
                                  {"num_attention_heads", 2},
                                  {"intermediate_size", 32}};
    nlohmann::json text = sizes, vision = sizes;
    text.update({{"vocab_size", vocab}, {"max_position_embeddings", 32}, {"eos_token_id", 2}});
    vision.update({{"image_size", 4}, {"patch_size", 2}, {"num_channels", 1}});
    return {{"model_type", "clip"},
            {"architectures", {"CLIPModel"}},
            {"projection_dim", 8},
            {"text_config", text},
            {"vision_config", vision}};
  }
  return {{"model_type", "vit"},      {"architectures", {"ViTModel"}},
          {"hidden_size", 16},        {"num_hidden_layers", 1},
          {"num_attention_heads", 2}, {"intermediate_size", 32},
          {"image_size", 4},          {"patch_size", 2},
          {"num_channels", 1},        {"encoder_stride", 2}};
}

/// Writes a Hugging Face folder with a tokenizer that has all symbols required by any task.
std::string write_folder(const Task& task, const TaskShell& weft) {
  std::vector<std::string> symbols = denoising_symbols({.objective = DenoisingObjective::ul2});
  for (const std::string& symbol :
       denoising_symbols({.objective = DenoisingObjective::gap_sentences}))
    symbols.push_back(symbol);
  const std::string text =
      read_whole_file(std::string(WEFT_FIXTURES) + "/weft_files/data/text.txt");
  const auto tokenizer = SentencePieceTokenizer::train(std::vector<std::string>{text},
                                                       {.vocab = 200, .symbols = symbols});
  const std::string config = tiny_folder(task.info().family, tokenizer.vocab_size()).dump(),
                    path = weft.path("folder");
  Graph graph;
  const hf::Model model = hf::build_model(graph, config, hf::minimal_inputs(config));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 5}).initialise();
  hf::write_folder(path, model, graph, *store);
  weft.write("folder/spiece.model", tokenizer.to_bytes());
  return path;
}

void check_all_features(const Task& task) {
  const TaskShell weft(task);
  const std::string whole = weft.path("whole.weft"), half = weft.path("half.weft");
  const std::string more = " --optimizer lion --shards 2 --ema 0.9 --keep 2 --save-every 1 --log " +
                           weft.path("log.jsonl");
  const std::string averaged = weft.path("averaged.weft");
  check_success(weft.train_new(more + " --stop-after 3 --out " + averaged),
                "run with averaging and two shards");
  check_success(weft.train("--resume " + averaged + " --log " + weft.path("log.jsonl")),
                "resumed run with averaging");
  check_success(weft.with_data("evaluate " + weft.path("averaged.ema.weft")),
                "evaluation of the averages");
  check_success(weft.train(weft.short_settings() + " --from " + weft.path("averaged.ema.weft") +
                           " --out " + weft.path("d.weft")),
                "training from the averages");
  check_error(
      weft.train("--resume " + weft.path("averaged.ema.weft") + " --out " + weft.path("d.weft")), 2,
      "its weights were averaged");
  check_success(weft.run("inspect " + weft.path("averaged.2.weft")), "an earlier checkpoint");
  check_success(
      weft.train_new("--out " + whole + " --best " + weft.path("best.weft") + " --patience 9"),
      "training run");
  // A run that is stopped and resumed matches an uninterrupted run bit-exactly.
  check_success(weft.train_new("--stop-after 2 --out " + half), "stopped run");
  check_success(weft.train("--resume " + half), "resumed run");
  BOOST_TEST(load_any_model(whole).model->history.train ==
             load_any_model(half).model->history.train);
  BOOST_TEST(load_any_model(whole).model->task == task.info().id);

  const std::string start =
      weft.short_settings() + " --from " + whole + " --out " + weft.path("b.weft");
  check_success(weft.train(start + " --freeze '*.0.*' --layer-lr-decay 0.9 --memory-budget 1GiB"),
                "training from weights");
  check_success(weft.train(start + " --reinit '*.0.*' --precision medium"),
                "training from some of the weights");
  if (task.info().family != "network") {  // which no folder describes
    check_success(weft.train(weft.short_settings() + " --from " + write_folder(task, weft) +
                             " --out " + weft.path("f.weft")),
                  "a training from a folder");
  }
  const std::string lora = weft.path("lora.weft");
  check_success(weft.train(weft.short_settings() + " --from " + whole +
                           " --lora-rank 2 --stop-after 2 --out " + lora),
                "adapters");
  check_success(weft.train("--resume " + lora), "resumed adapter run");
  check_success(weft.run("merge " + whole + " --adapters " + weft.path("lora.lora.safetensors") +
                         " --out " + weft.path("merged.weft")),
                "merged adapters");
  check_success(weft.with_data("evaluate " + weft.path("merged.weft")),
                "evaluation of merged adapters");
  const Outcome small = weft.with_data("quantize " + whole + " --out " + weft.path("small.weft"));
  check_success(small, "quantisation");
  BOOST_TEST(contains(small.out, "->"));
  check_success(weft.with_data("evaluate " + weft.path("small.weft")),
                "evaluation of int8 weights");
  check_error(weft.train("--resume " + weft.path("small.weft") + " --out " + weft.path("c.weft")),
              2, "its weights were quantised");
  // Train adapters on the quantised weights.
  const std::string beside = weft.short_settings() + " --from " + weft.path("small.weft") +
                             " --lora-rank 2 --lora-dropout 0.1 --out ";
  const std::string tuned = weft.path("tuned.weft"), cut = weft.path("cut.weft");
  check_success(weft.train(beside + tuned), "adapters on int8 weights");
  check_success(weft.train(beside + cut + " --stop-after 2"),
                "stopped run with adapters on int8 weights");
  check_success(weft.train("--resume " + cut), "resumed run with adapters on int8 weights");
  BOOST_TEST(load_any_model(tuned).model->history.train ==
             load_any_model(cut).model->history.train);
  check_success(weft.with_data("evaluate " + tuned), "evaluation of adapters on int8 weights");
  for (const std::string& base : {whole, weft.path("small.weft")}) {
    const std::string merged = weft.path(base == whole ? "of_floats.weft" : "of_int8.weft");
    check_success(weft.run("merge " + base + " --adapters " + weft.path("tuned.lora.safetensors") +
                           " --out " + merged),
                  "adapters merged into " + base);
    check_success(weft.with_data("evaluate " + merged), "evaluation of the merged model");
  }
}

/// Elements of an input tensor, one vector per row.
using Rows = std::vector<std::vector<double>>;

std::set<std::string> input_names(const NamedTensors& inputs) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : inputs) names.insert(name);
  return names;
}

Rows rows_of(const Tensor& tensor) {
  const std::vector<double> all = tensor.to(DType::f64).to_vector<double>();
  const auto width = static_cast<std::ptrdiff_t>(tensor.numel() / tensor.size(0));
  Rows rows;
  for (auto row = all.begin(); row != all.end(); row += width) rows.emplace_back(row, row + width);
  return rows;
}

const Tensor& input(const NamedTensors& inputs, std::string_view name) {
  return std::find_if(inputs.begin(), inputs.end(), [&](const auto& i) { return i.first == name; })
      ->second;
}

/// Row, column and label of each masked token in a batch. Rows are numbered from `first`.
using Hidden = std::vector<std::array<std::int64_t, 3>>;
void add_hidden(const NamedTensors& inputs, std::int64_t first, Hidden& hidden) {
  const auto picks = input(inputs, "picks").span<std::int32_t>();
  const auto labels = input(inputs, "labels").span<std::int32_t>();
  const std::int64_t length = input(inputs, "tokens").size(1);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (labels[i] >= 0) hidden.push_back({first + picks[i] / length, picks[i] % length, labels[i]});
  }
}

/// Checks that the concatenated shards equal the batch. Each shard is padded to its own length.
void check_shards(const TrainTask& task, std::int64_t step, std::int64_t shards) {
  const TrainBatch whole = task.batch(step);
  const bool picks = input_names(whole.inputs).contains("picks");
  std::map<std::string, Rows> found;
  Hidden hidden, all_hidden;
  std::int64_t items = 0, rows = 0;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    const TrainBatch part = task.batch({step, shard, shards});
    items += part.items;
    BOOST_TEST((input_names(part.inputs) == input_names(whole.inputs)));
    if (picks) add_hidden(part.inputs, rows, hidden);
    rows += input(part.inputs, whole.inputs.front().first).size(0);
    for (const auto& [name, tensor] : part.inputs) {
      for (const std::vector<double>& row : rows_of(tensor)) found[name].push_back(row);
    }
  }
  BOOST_TEST(items == whole.items);
  if (picks) {
    add_hidden(whole.inputs, 0, all_hidden);
    BOOST_TEST((hidden == all_hidden));
  }
  for (const auto& [name, tensor] : whole.inputs) {
    if (picks && (name == "picks" || name == "labels")) continue;
    BOOST_TEST_CONTEXT(name) {
      const Rows wanted = rows_of(tensor);
      BOOST_REQUIRE(found[name].size() == wanted.size());
      std::set<double> padding;
      for (std::size_t r = 0; r < wanted.size(); ++r) {
        const std::vector<double>& row = found[name][r];
        BOOST_REQUIRE(row.size() <= wanted[r].size());
        const auto padding_begin = wanted[r].begin() + std::ssize(row);
        BOOST_TEST(std::equal(row.begin(), row.end(), wanted[r].begin()));
        padding.insert(padding_begin, wanted[r].end());
      }
      BOOST_TEST(padding.size() <= 1U);
    }
  }
}

void check_shards(const Task& task) {
  const TaskShell weft(task);
  check_success(weft.train_new("--stop-after 1 --out " + weft.path("m.weft")), "training run");
  const auto run = weft.open("m.weft");
  Session session(*run->model().graph, run->model().store);
  const TrainTask feed = run->task(session);
  int cut = 0;
  for (const std::int64_t step : {0, 3, 50}) {
    const std::int64_t rows = feed.batch(step).inputs.front().second.size(0);
    // The number of pairs in a batch varies.
    const bool by_tokens = task.info().id == "translation";
    for (std::int64_t shards = 1; shards <= rows; ++shards) {
      if (by_tokens || rows % shards == 0) {
        check_shards(feed, step, shards);
        cut += shards > 1 ? 1 : 0;
      } else {
        check_error_message<ArgumentError>([&] { feed.batch({step, 0, shards}); }, "equal shards");
      }
    }
    check_error_message<ArgumentError>([&] { feed.batch({step, 0, rows + 1}); }, "shards");
  }
  BOOST_TEST(cut > 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_task_supports_all_training_features) {
  for (const Task* task : all_tasks()) {
    BOOST_TEST_CONTEXT("task " << task->info().id) {
      BOOST_REQUIRE(kTinyRuns.contains(task->info().id));
      check_all_features(*task);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_batches_of_every_task_can_be_split_into_shards) {
  for (const Task* task : all_tasks()) {
    BOOST_TEST_CONTEXT("task " << task->info().id) { check_shards(*task); }
  }
}

// A head without pre-trained weights is trained directly, together with the adapters on the other
// matrices.
BOOST_AUTO_TEST_CASE(a_new_head_is_trained_together_with_adapters) {
  const TaskShell weft(*find_task("text-classification"));
  const std::string base = std::string(WEFT_FIXTURES) + "/weft_files/encoder-mlm.weft";
  const std::string tuned = weft.path("tuned.weft");
  const std::string start = weft.short_settings() + " --lr 0.01 --from " + base +
                            " --lora-rank 2 --out " + tuned + " --stop-after ";
  const auto weights = [&] {
    const auto model = load_any_model(tuned).model;
    return std::pair{model->store->tensor("classifier.weight"),
                     model->store->tensor("layers.0.attention.query.weight")};
  };
  check_success(weft.train(start + "1"), "one step");
  const auto before = weights();
  check_success(weft.train("--resume " + tuned), "the others");
  const auto after = weights();
  BOOST_TEST(!bitwise_equal(before.first, after.first));
  BOOST_TEST(bitwise_equal(before.second, after.second));
}

BOOST_AUTO_TEST_CASE(every_task_option_has_a_help_text) {
  for (const Task* task : all_tasks()) {
    BOOST_TEST_CONTEXT("task " << task->info().id) {
      BOOST_TEST(!task->info().about.empty());
      BOOST_TEST(!task->presets().empty());
      TaskOptions options = task->options();
      BOOST_TEST(options.options.size() > 0U);
      for (const TaskOption& option : options.options)
        BOOST_TEST(!option.help.empty(), option.name);
      options.fields.push_back(task->config_fields());
      options.fields.push_back({"Training", &TrainSettings::fields()});
      for (const TaskFields& group : options.fields) {
        for (const Field& field : group.list->fields()) BOOST_TEST(!field.help.empty(), field.name);
      }
    }
  }
}

/// Options and commands that the first test in this file runs for every task, as listed in
/// docs/training.md.
constexpr std::array kFeatures = {"`--from` a file or a folder",
                                  "`--reinit`",
                                  "`--freeze`",
                                  "`--layer-lr-decay`",
                                  "`--lora-rank`",
                                  "also on quantised weights",
                                  "`weft merge`",
                                  "`--resume`",
                                  "`--keep`",
                                  "`--best`",
                                  "`--patience`",
                                  "`--optimizer`",
                                  "`--shards`",
                                  "`--ema`",
                                  "`--memory-budget`",
                                  "`--precision`",
                                  "`weft evaluate`",
                                  "`weft quantize`"};

BOOST_AUTO_TEST_CASE(the_training_page_lists_every_task_and_every_feature) {
  const std::string page = read_whole_file(std::string(WEFT_FIXTURES) + "/../../docs/training.md");
  for (const FamilyDescription& family : families()) {
    std::string row = fmt::format("| `weft train {}` |", family.name);
    const char* separator = " ";
    for (const Task* task : tasks_of(family.name)) {
      row += fmt::format("{}`{}`", separator, task->info().name);
      separator = ", ";
    }
    row += " |";
    BOOST_TEST(contains(page, row), row);
  }
  for (const char* feature : kFeatures) BOOST_TEST(contains(page, feature), feature);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
