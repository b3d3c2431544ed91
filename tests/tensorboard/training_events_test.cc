// The events of training runs (weft train --tensorboard).
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "event_reader.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/models/tensorboard/tensorboard_log.h"
#include "weft/models/training/training_step.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(training_events)
namespace {

using nlohmann::json;
const std::string kTrain = "train gpt --text text.txt --layers 1 --batch 2 --threads 2 --warmup 1 ",
                  kSmall =
                      kTrain + "--heads 2 --width 16 --context 16 --eval-every 2 --eval-batches 1 ";

std::vector<json> log_lines(const std::string& path, const std::string& event) {
  std::ifstream file(path);
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(json::parse(line));
    if (lines.back()["event"] != event) lines.pop_back();
  }
  return lines;
}

BOOST_AUTO_TEST_CASE(scalars_are_those_of_the_log) {
  const Shell weft;
  const Outcome outcome =
      weft.in(weft.path(""), kSmall + "--steps 5 --out m.weft --log m.jsonl --tensorboard runs/a");
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  const std::vector<std::string> files = event_files(weft.path("runs/a"));
  BOOST_TEST_REQUIRE(files.size() == 1U);
  auto tags = values_by_tag(events_in(files[0]));
  const std::vector<json> steps = log_lines(weft.path("m.jsonl"), "step");
  BOOST_TEST_REQUIRE(steps.size() == 5U);
  const std::map<std::string, std::string> names{{"loss/train", "loss"},
                                                 {"learning_rate", "learning_rate"},
                                                 {"gradient_norm", "gradient_norm"},
                                                 {"speed/tokens_per_second", "tokens_per_second"}};
  for (const auto& [tag, name] : names) {
    BOOST_TEST_CONTEXT(tag) {
      BOOST_TEST_REQUIRE(tags[tag].size() == steps.size());
      for (std::size_t i = 0; i < steps.size(); ++i) {
        BOOST_TEST(tags[tag][i].step == steps[i]["step"].get<std::int64_t>());
        BOOST_TEST(tags[tag][i].value["simple_value"].get<float>() == steps[i][name].get<float>());
      }
    }
  }
  std::map<std::string, std::size_t> evaluations;
  for (const json& line : log_lines(weft.path("m.jsonl"), "evaluation")) {
    const std::string part = line["whole"] == true ? "validation" : "validation_part";
    const auto check = [&](const std::string& tag, const json& value) {
      const std::size_t i = evaluations[tag]++;
      BOOST_TEST_CONTEXT(tag) {
        BOOST_TEST_REQUIRE(i < tags[tag].size());
        BOOST_TEST(tags[tag][i].step == line["step"].get<std::int64_t>());
        BOOST_TEST(tags[tag][i].value["simple_value"].get<float>() == value.get<float>());
      }
    };
    check("loss/" + part, line["loss"]);
    for (const auto& [name, value] : line["metrics"].items()) check(part + "/" + name, value);
  }
  BOOST_TEST(evaluations["loss/validation_part"] == 2U);
  BOOST_TEST(evaluations["loss/validation"] == 1U);
  // The text that is printed after an evaluation.
  const auto& samples = tags["sample"];
  BOOST_TEST_REQUIRE(samples.size() == 3U);
  for (const TaggedValue& sample : samples) {
    const std::string text = sample.value["tensor"]["string_val"][0];
    BOOST_TEST(!text.empty());
    BOOST_TEST(contains(outcome.out, "  | " + text + "\n"));
  }
  // Hyper-parameters.
  const json start =
      tags["_hparams_/session_start_info"].at(0).value["metadata"]["plugin_data"]["content"]
                                                      ["session_start_info"]["hparams"];
  std::map<std::string, json> parameters;
  for (const json& entry : start) parameters[entry["key"]] = entry["value"];
  BOOST_TEST(parameters["steps"] == (json{{"number_value", 5.0}}));
  BOOST_TEST(parameters["optimizer"] == (json{{"string_value", "adamw"}}));
  BOOST_TEST(parameters["model.width"] == (json{{"number_value", 16.0}}));
  BOOST_TEST(parameters["task"] == (json{{"string_value", "next-token"}}));
  BOOST_TEST(tags["_hparams_/session_end_info"].size() == 1U);
}

BOOST_AUTO_TEST_CASE(events_change_nothing_else) {
  const Shell weft;
  const std::string arguments = kSmall + "--steps 4 --dropout 0.1 --out ";
  BOOST_TEST(weft.in(weft.path(""), arguments + "a.weft").code == 0);
  BOOST_TEST(weft.in(weft.path(""), arguments + "b.weft --tensorboard runs").code == 0);
  BOOST_TEST((read_whole_file(weft.path("a.weft")) == read_whole_file(weft.path("b.weft"))));
}

/// Returns the histogram of a tag and a step.
json histogram(const std::map<std::string, std::vector<TaggedValue>>& tags, const std::string& tag,
               std::int64_t step) {
  for (const TaggedValue& found : tags.at(tag)) {
    if (found.step == step) return found.value["histo"];
  }
  BOOST_FAIL(tag + " has no histogram of this step");
  return {};
}

BOOST_AUTO_TEST_CASE(histograms_show_parameters_and_gradients) {
  const Shell weft;
  // SGD without momentum, decay and warm-up: the update is the gradient times the learning rate.
  const std::string arguments =
      "train gpt --text text.txt --layers 1 --heads 2 --width 16 --context 16 --batch 2 --threads "
      "2 "
      "--optimizer sgd --beta1 0 --weight-decay 0 --clip 0 --schedule constant --warmup 0 --lr 0.5 "
      "--eval-every 0 --save-every 1 --keep 3 --steps 4 --dropout 0.1 --out ";
  const auto run = [&](const std::string& more) {
    const Outcome outcome = weft.in(weft.path(""), arguments + more);
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  };
  run("a.weft");
  run("b.weft --tensorboard runs --histograms 2");
  BOOST_TEST((read_whole_file(weft.path("a.weft")) == read_whole_file(weft.path("b.weft"))));
  const auto tags = values_by_tag(events_in(event_files(weft.path("runs")).at(0)));
  int parameters = 0;
  // b.2.weft, b.1.weft and b.weft are the checkpoints of the steps 2, 3 and 4.
  const Checkpoint second = load_checkpoint(weft.path("b.2.weft")),
                   third = load_checkpoint(weft.path("b.1.weft")),
                   last = load_checkpoint(weft.path("b.weft"));
  for (const Variable& v : last.graph().parameters()) {
    BOOST_TEST_CONTEXT(v.name()) {
      ++parameters;
      const auto sum = [&](const Checkpoint& file) {
        double total = 0;
        for (const float x : file.store()->tensor(v.name()).span<float>()) total += x;
        return total;
      };
      const auto count = static_cast<double>(last.store()->tensor(v.name()).numel());
      for (const auto& [step, file] : {std::pair{2, &second}, std::pair{4, &last}}) {
        const json values = histogram(tags, "parameters/" + v.name(), step);
        BOOST_TEST(values["num"] == count);
        BOOST_TEST(std::abs(values["sum"].get<double>() - sum(*file)) <= 1e-9 * count);
      }
      const json gradient = histogram(tags, "gradients/" + v.name(), 4);
      BOOST_TEST(gradient["num"] == count);
      const double update = (sum(third) - sum(last)) / 0.5;
      BOOST_TEST(std::abs(gradient["sum"].get<double>() - update) <= 1e-6 * count);
      BOOST_TEST(tags.at("gradients/" + v.name()).size() == 2U);
    }
  }
  BOOST_TEST(parameters == 9);
}

BOOST_AUTO_TEST_CASE(image_tasks_show_examples_with_predictions) {
  const Shell weft;
  std::string digits;
  for (int i = 0; i < 60; ++i) {
    for (int p = 0; p < 16; ++p)
      digits += std::to_string(((p < 8) == (i % 2 == 0) ? 9 : 0) + (i * 7 + p * 5) % 8) + ",";
    digits += std::to_string(i % 2) + "\n";
  }
  std::filesystem::create_directory(weft.path("digits"));
  weft.write("digits/digits.tra", digits);
  weft.write("digits/digits.tes", digits.substr(0, digits.size() / 3));
  const Outcome outcome = weft.in(
      weft.path(""),
      "train vit --steps 3 --data digits --image-height 4 --image-width 4 --layers 1 --heads 2 "
      "--width 16 --inner 32 --batch 8 --warmup 1 --shift 0 --rotation 0 --zoom 0 --patch-height 1 "
      "--patch-width 1 --threads 2 --out m.weft --tensorboard runs");
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  int images = 0;
  for (const auto& [tag, values] : values_by_tag(events_in(event_files(weft.path("runs")).at(0)))) {
    if (!tag.starts_with("examples/")) continue;
    ++images;
    BOOST_TEST(contains(tag, ", predicted "));
    BOOST_TEST_REQUIRE(values.size() == 1U);
    BOOST_TEST(values[0].step == 3);
    BOOST_TEST(values[0].value["image"]["encoded_image_string"]["width"] == 4);
  }
  BOOST_TEST(images == 8);
}

// The code block in docs/training.md.
BOOST_AUTO_TEST_CASE(a_trainer_writes_events_through_its_observer) {
  const testing::TemporaryFolder files("events");
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Value loss = mean(square(
      matmul(x, g.variable("w", DType::f32, {4, 2}, {.initializer = Initializer::normal(1)}))));
  const TrainSettings settings{.steps = 4, .batch = 8, .warmup = 0, .save_every = 0};
  Program step("step");
  add_training_step(step, loss, settings);
  Session session(g, {.seed = 1});
  const TrainTask task{.train = &step, .batch = [](const BatchPart& part) {
                         const auto seed = static_cast<std::uint64_t>(part.step());
                         return TrainBatch{{{"x", normal_tensor({8, 4}, seed)}}, 8};
                       }};
  const std::string folder = files.path("run");
  EventWriter events(folder);              // shown by: tensorboard --logdir FOLDER
  TensorBoardLog log(events, session, 2);  // histograms of the parameters in every second step
  Trainer trainer(session, task, {.settings = settings, .observer = &log, .gradients_every = 2});
  trainer.run();
  events.text("notes", settings.steps, "The *first* run.");
  events.flush();
  const auto tags = values_by_tag(events_in(events.path()));
  BOOST_TEST(tags.at("loss/train").size() == 4U);
  BOOST_TEST(tags.at("gradients/w").size() == 2U);
  BOOST_TEST(tags.at("parameters/w").size() == 2U);
  BOOST_TEST(tags.at("gradients/w")[0].step == 2);
  BOOST_TEST(tags.at("notes")[0].step == 4);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_continues_the_curves) {
  const Shell weft;
  const auto run = [&](const std::string& arguments) {
    const Outcome outcome = weft.in(weft.path(""), arguments + " --tensorboard runs");
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  };
  run(kSmall + "--steps 6 --stop-after 3 --out m.weft");
  run("train gpt --text text.txt --resume m.weft");
  const std::vector<std::string> files = event_files(weft.path("runs"));
  BOOST_TEST_REQUIRE(files.size() == 2U);
  std::vector<json> first = events_in(files[0]), second = events_in(files[1]);
  if (first[1]["step"] != 0) std::swap(first, second);  // files of the same second
  BOOST_TEST(first[1]["session_log"]["status"] == 1);
  BOOST_TEST(first[1]["step"] == 0);
  BOOST_TEST(second[1]["session_log"]["status"] == 1);
  BOOST_TEST(second[1]["step"] == 4);
  BOOST_TEST(values_by_tag(first)["loss/train"].back().step == 3);
  BOOST_TEST(values_by_tag(second)["loss/train"].front().step == 4);
  // Only the second process completed the run.
  BOOST_TEST(!values_by_tag(first).contains("_hparams_/session_end_info"));
  BOOST_TEST(values_by_tag(second).contains("_hparams_/session_end_info"));
}

BOOST_AUTO_TEST_CASE(word_embeddings_have_one_point_per_epoch) {
  const Shell weft;
  for (const std::string model : {"skip-gram", "glove"}) {
    const Outcome outcome =
        weft.in(weft.path(""),
                "vectors train --text text.txt --epochs 3 --width 4 --out w.vec "
                "--threads 2 --model " +
                    model + " --tensorboard " + model);
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    auto tags = values_by_tag(events_in(event_files(weft.path(model)).at(0)));
    const bool glove = model == "glove";
    BOOST_TEST(tags[glove ? "speed/counts_per_second" : "speed/words_per_second"].size() == 3U);
    BOOST_TEST(tags["loss/train"].size() == (glove ? 3U : 0U));
  }
  check_error(weft.in(weft.path(""),
                      "vectors train --text text.txt --model lsa --out w.vec "
                      "--tensorboard runs"),
              2, "--tensorboard");
}

BOOST_AUTO_TEST_CASE(folders_are_checked_before_training) {
  const Shell weft;
  const std::string at = weft.path("");
  weft.write("file", "x");
  std::filesystem::create_directory(weft.path("data"));
  weft.write("data/text.txt", read_whole_file(weft.path("text.txt")));
  const std::string data = "train gpt --text data --steps 1 --out m.weft --tensorboard ";
  check_error(weft.in(at, kSmall + "--steps 1 --out m.weft --tensorboard file/run"), 1,
              "--tensorboard: cannot write to file/run: ");
  check_error(weft.in(at, kSmall + "--steps 1 --out m.weft --tensorboard file"), 1,
              "is not a folder: name a folder that can be created or written");
  check_error(weft.in(at, kSmall + "--steps 1 --out m.weft --tensorboard text.txt"), 2,
              "--tensorboard text.txt would replace --text text.txt");
  check_error(weft.in(at, kSmall + "--steps 1 --out m.weft --histograms 1"), 2, "--histograms");
  check_error(weft.in(at, kSmall + "--steps 2 --out m.weft --tensorboard runs --histograms 3"), 2,
              "--histograms has no effect: the run ends after 2 steps");
  check_error(weft.in(at, data + "data/runs"), 2, "--tensorboard data/runs is inside --text data");
  check_error(weft.in(at, kSmall + "--steps 1 --tensorboard runs/new --out /no/m.weft"), 1, "/no");
  BOOST_TEST(!std::filesystem::exists(weft.path("runs")));
  BOOST_TEST(!std::filesystem::exists(weft.path("m.weft")));
}

BOOST_AUTO_TEST_CASE(a_run_finishes_even_if_its_events_cannot_be_written) {
  const Shell weft;
  // The event file is larger than the limit on the size of files, and the model is smaller.
  const std::string arguments = kTrain +
                                "--steps 400 --eval-every 0 --width 4 --heads 1 --context 4 "
                                "--out m.weft --tensorboard runs";
  const std::string command = "cd " + weft.path("") + " && ulimit -f 90 && " + WEFT_PROGRAM + " " +
                              arguments + " >out 2>err";
  const int status = std::system(command.c_str());
  BOOST_TEST(WEXITSTATUS(status) == 1);
  const std::string error = read_whole_file(weft.path("err"));
  BOOST_TEST(error.starts_with("weft: --tensorboard: cannot write TensorBoard events to runs/"));
  BOOST_TEST(error.ends_with(": File too large\n"));
  BOOST_TEST(contains(read_whole_file(weft.path("out")), "saved     m.weft"));
  BOOST_TEST(!events_in(event_files(weft.path("runs")).at(0)).empty());
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
