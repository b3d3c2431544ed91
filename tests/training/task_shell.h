// Tiny training runs for every task with the program `weft`.
#pragma once

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/models/tasks/tasks.h"
#include "weft/tests/support/program_shell.h"

namespace weft {

/// Command-line options that train a tiny model for a task.
struct TinyRun {
  std::string data, model, batch;
  /// Task options, which are also needed if training starts from a file.
  std::string options = {};
};

inline const std::string kTinyText = "{data}/text.txt", kTinyDocs = "{data}/docs.txt";
inline const std::string kTinyEncoder =
    "--layers 1 --heads 2 --width 16 --inner 32 --context 32 --vocab 60";
inline const std::string kTinySeq2Seq =
    "--encoder-layers 1 --decoder-layers 1 --encoder-heads 2 --decoder-heads 2 --width 16 "
    "--encoder-inner 32 --decoder-inner 32 --context 64";
inline const std::string kTinyVit =
    "--image-height 4 --image-width 4 --layers 1 --heads 2 --width 16 --inner 32 "
    "--padding 0 --shift 0 --rotation 0";

inline const std::map<std::string, TinyRun> kTinyRuns = {
    {"next-token", {"--text " + kTinyText, "--layers 1 --heads 2 --width 16 --context 16", "4"}},
    {"instructions",
     {"--data {data}/../../chat/instructions.jsonl",
      "--layers 1 --heads 2 --width 16 --context 48 --vocab 290", "4", "--chat-format chatml"}},
    {"mlm", {"--text " + kTinyDocs, kTinyEncoder, "4"}},
    {"mlm+nsp", {"--text " + kTinyDocs, kTinyEncoder, "4"}},
    {"mlm+sop", {"--text " + kTinyDocs, kTinyEncoder, "4"}},
    {"rtd", {"--text " + kTinyDocs, kTinyEncoder, "4"}},
    {"text-classification", {"--data {data}/films.tsv", kTinyEncoder, "4"}},
    {"token-classification", {"--train {data}/../../tagged/towns.conll", kTinyEncoder, "4"}},
    {"text-similarity", {"--data {data}/../../scored/similar.tsv", kTinyEncoder, "4"}},
    {"text-embedding", {"--data {data}/../../retrieval/pairs.tsv", kTinyEncoder, "4"}},
    {"span-answering", {"--data {data}/../../squad/places.json", kTinyEncoder, "4"}},
    {"translation", {"--pairs {data}/pairs.tsv", kTinySeq2Seq + " --vocab 60", "128"}},
    {"span-corruption",
     {"--text " + kTinyDocs, kTinySeq2Seq + " --vocab 190", "128", "--passage 24"}},
    {"ul2", {"--text " + kTinyDocs, kTinySeq2Seq + " --vocab 190", "128", "--passage 24"}},
    {"denoising", {"--text " + kTinyDocs, kTinySeq2Seq + " --vocab 190", "128", "--passage 24"}},
    {"gap-sentences",
     {"--text " + kTinyDocs, kTinySeq2Seq + " --vocab 190", "128", "--passage 24"}},
    {"transcription",
     {"--data {data}/../../audio/recordings.tsv",
      "--encoder-layers 1 --decoder-layers 1 --encoder-heads 2 --decoder-heads 2 --width 16 "
      "--encoder-inner 32 --decoder-inner 32 --context 32 --mel-bins 8 --source-context 10 --vocab "
      "270",
      "4", "--time-masks 1 --time-width 4"}},
    {"image-classification", {"--data {data}", kTinyVit, "8"}},
    {"swin-classification",
     {"--data {data}",
      "--image-height 4 --image-width 4 --depths 2 --heads 2 --width 8 --window 2 "
      "--patch-height 1 --patch-width 1 --padding 0 --shift 0 --rotation 0",
      "8"}},
    {"network-classification",
     {"--data {data}",
      "--from {data}/../../onnx/residual.onnx --padding 0 --shift 0 --rotation 0 --min-area 1",
      "8"}},
    {"masked-image", {"--data {data}", kTinyVit, "8"}},
    {"image-text",
     {"--data {data}/../../captions/captions.tsv",
      "--vision-image-height 4 --vision-image-width 4 --vision-patch-height 2 "
      "--vision-patch-width 2 --vision-channels 1 --vision-layers 1 --vision-heads 2 "
      "--vision-width 16 --vision-inner 32 --text-layers 1 --text-heads 2 --text-width 16 "
      "--text-inner 32 --text-context 32 --projection 16 --vocab 60",
      "4"}},
};

/// Runs commands for one task with the data of the test fixtures.
class TaskShell {
 public:
  explicit TaskShell(const Task& task) : info_(task.info()), tiny_(kTinyRuns.at(info_.id)) {}

  std::string path(const std::string& name) const { return shell_.path(name); }
  void write(const std::string& name, std::string_view bytes) const { shell_.write(name, bytes); }
  /// Runs `weft train` with the data, but without model-size options.
  Outcome train(const std::string& arguments, int threads = 1) const {
    return run(fmt::format("train {} {} {} --threads {} {}", info_.family,
                           tasks_of(info_.family).size() > 1 ? "--task " + info_.name : "",
                           tiny_.data, threads, arguments));
  }
  /// Settings that differ from those of the default run.
  struct Changes {
    std::string lr = "0.01", batch = "";  // an empty batch means the value in kTinyRuns
    int threads = 1;
  };
  Outcome train_new(const std::string& arguments) const { return train_new(arguments, {}); }
  Outcome train_new(const std::string& arguments, const Changes& changes) const {
    return train(fmt::format("{} {} --batch {} --lr {} {}", tiny_.model, tiny_.options,
                             changes.batch.empty() ? tiny_.batch : changes.batch, changes.lr,
                             (info_.id == "text-classification" ? "" : kFraction) +
                                 std::string(kShort) + arguments),
                 changes.threads);
  }
  Outcome with_data(const std::string& arguments) const {
    return run(arguments + " " + tiny_.data);
  }
  Outcome run(const std::string& arguments) const { return shell_(with_folder(arguments)); }
  /// Opens the model file `name` for the task, together with the data.
  std::unique_ptr<TaskRun> open(const std::string& name) const {
    OptionValues values;
    const std::size_t blank = tiny_.data.find(' ');
    values.add(tiny_.data.substr(0, blank), with_folder(tiny_.data.substr(blank + 1)));
    return find_task(info_.id)->open(load_any_model(path(name)).model, values);
  }

  /// Returns options for a training run that starts from a file with weights, which determines the
  /// model sizes.
  std::string short_settings() const {
    return tiny_.options + (info_.id == "text-classification" ? "" : kFraction) + kShort +
           (info_.family == "seq2seq" ? " --batch 128" : " --batch 4");
  }

 private:
  static std::string with_folder(std::string arguments) {
    const std::string data = std::string(WEFT_FIXTURES) + "/weft_files/data";
    for (std::size_t at; (at = arguments.find("{data}")) != std::string::npos;)
      arguments.replace(at, 6, data);
    return arguments;
  }

  static constexpr const char* kFraction = " --validation-fraction 0.1";
  static constexpr const char* kShort = " --steps 4 --warmup 1 --eval-every 2 --seed 3 ";
  Shell shell_;
  const TaskInfo& info_;
  const TinyRun& tiny_;
};

inline void check_success(const Outcome& outcome, const std::string& what) {
  BOOST_TEST_CONTEXT(what << "\n" << outcome.out << outcome.err) { BOOST_TEST(outcome.code == 0); }
}

}  // namespace weft
