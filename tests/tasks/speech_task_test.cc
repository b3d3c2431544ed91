// Training and fine-tuning of speech recognisers.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/tasks/speech/recordings.h"
#include "weft/models/tasks/speech/spectrogram_masking.h"
#include "weft/models/tasks/speech/speech_model.h"
#include "weft/models/tasks/speech/task.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/trainable.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/uses/speech_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(speech_task)
namespace {

using testing::says;
using testing::TemporaryFolder;

const std::string kRecordings = std::string(WEFT_FIXTURES) + "/audio/recordings.tsv";

TaskArguments tiny_arguments() {
  TaskArguments args;
  args.options.add("--data", kRecordings);
  args.options.add("--vocab", "270");
  args.model = {{"encoder_layers", "1"},  {"decoder_layers", "1"}, {"width", "32"},
                {"encoder_heads", "2"},   {"decoder_heads", "2"},  {"encoder_inner", "64"},
                {"decoder_inner", "64"},  {"context", "32"},       {"mel_bins", "16"},
                {"source_context", "10"}, {"dropout", "0"}};
  args.training = {{"steps", "300"}, {"batch", "4"}, {"lr", "0.005"}, {"warmup", "10"}};
  return args;
}

/// Trains for some steps and returns the first and the last loss.
std::pair<double, double> train(TaskRun& run, Session& session, int steps) {
  const TrainTask task = run.task(session);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(session.run(*task.train, task.batch(i).inputs)["loss"].item<float>());
  return {losses.front(), losses.back()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_recogniser_learns_to_name_tones_and_becomes_a_folder) {
  const TemporaryFolder files("speech");
  const TaskArguments args = tiny_arguments();
  const auto run = transcription_task().start(args);
  make_trainable(run->model());
  Session session(*run->model().graph, run->model().store, {.seed = 3, .threads = 1});
  const auto [first, last] = train(*run, session, 300);
  BOOST_TEST(first > 4);
  BOOST_TEST(last < 0.1);
  const Evaluation found = run->measure(session, run->model());
  BOOST_TEST(found.metrics.front().name == "word error rate");
  BOOST_TEST(found.metrics.front().value == 0);
  const TaskReport report = run->report(session, {}, "tones");
  BOOST_TEST(report.text.find("word error rate 0.0000") != std::string::npos);
  BOOST_TEST(report.plots.front().svg.starts_with("<svg"));
  save_model(files.path("tones.weft"), run->model());
  BOOST_TEST(save_folder(files.path("folder"), *load_any_model(files.path("tones.weft")).model)
                 .architecture == "WhisperForConditionalGeneration");
  const auto folder = load_any_model(files.path("folder")).model;
  Session again(*folder->graph, folder->store, {.threads = 1});
  BOOST_TEST(std::abs(run->measure(again, *folder).loss - found.loss) < 1e-5);
  const auto path = std::string(WEFT_FIXTURES) + "/audio/tone0.wav";
  BOOST_TEST(transcribe_files(again, *folder, {path}).front().text == "up a");
}

BOOST_AUTO_TEST_CASE(whisper_folders_are_fine_tuned_with_their_settings) {
  const TemporaryFolder files("speech"), folder("whisper");
  testing::write_whisper(folder);
  TaskArguments args;
  args.from = load_pretrained(folder.path());
  args.options.add("--data", kRecordings);
  args.options.add("--language", "english");
  args.training = {{"steps", "30"}, {"batch", "4"}, {"lr", "0.003"}, {"warmup", "3"}};
  const auto run = transcription_task().start(args);
  make_trainable(run->model());
  Session session(*run->model().graph, run->model().store, {.seed = 3, .threads = 1});
  const Tensor positions = session.value("encoder.positions.weight");
  const auto [first, last] = train(*run, session, 30);
  BOOST_TEST(last < first - 2);
  // The sinusoids are fixed.
  BOOST_TEST(bitwise_equal(positions, session.value("encoder.positions.weight")));
  BOOST_TEST(run->describe().find("language  en, task transcribe") != std::string::npos);
  // The labels begin with the ids of the language and the task.
  const auto& model = dynamic_cast<SpeechModel&>(run->model());
  const Tensor labels = run->task(session).batch(0).inputs.back().second;
  BOOST_TEST(labels.at(0) == model.speech().languages.at("en"));
  BOOST_TEST(labels.at(1) == model.speech().tasks.at("transcribe"));
  BOOST_TEST(labels.at(2) == model.speech().no_timestamps_id);
  save_model(files.path("tuned.weft"), run->model());
  args.from = load_pretrained(files.path("tuned.weft"));
  const auto next = transcription_task().start(args);
  BOOST_TEST((dynamic_cast<SpeechModel&>(next->model()).speech() == model.speech()));
  BOOST_TEST((dynamic_cast<SpeechModel&>(next->model()).features == model.features));
  args.options = {};
  BOOST_CHECK_EXCEPTION(transcription_task().start(args), ArgumentError,
                        says("--data is required: a file with the path of a recording"));
  args.options.add("--data", kRecordings);
  BOOST_CHECK_EXCEPTION(transcription_task().start(args), ArgumentError,
                        says("--language is required, because the model knows several"));
  const TemporaryFolder bart("bart");
  args.from = load_pretrained(testing::write_bart(bart));
  BOOST_CHECK_EXCEPTION(transcription_task().start(args), ArgumentError,
                        says("which does not read spectrograms"));
}

// Older folders of English models do not state that the model knows no other language.
BOOST_AUTO_TEST_CASE(english_folders_without_settings_are_fine_tuned_without_a_language) {
  const TemporaryFolder folder("whisper");
  testing::write_whisper(folder, {.config = {{"vocab_size", 51864}}});
  folder.write("generation_config.json", R"({"eos_token_id": 0})");
  TaskArguments args;
  args.from = load_pretrained(folder.path());
  args.options.add("--data", kRecordings);
  const auto run = transcription_task().start(args);
  BOOST_TEST(!dynamic_cast<SpeechModel&>(run->model()).speech().multilingual);
}

BOOST_AUTO_TEST_CASE(recordings_that_do_not_fit_are_rejected_with_their_path) {
  const TemporaryFolder files("speech");
  TaskArguments args = tiny_arguments();
  args.options = {};
  args.options.add("--data", files.path("pairs.tsv"));
  args.options.add("--vocab", "270");
  files.write("long.wav", testing::audio_file(testing::tone(440, 0.3, 8000), 8000));
  files.write("a.wav", testing::audio_file(testing::tone(440, 0.1, 8000), 8000));
  files.write("broken.wav", "RIFF");
  const std::string others = "a.wav\tone\na.wav\ttwo\n./a.wav\tthree\n././a.wav\tfour\n";
  const auto rejects = [&](const std::string& line, const std::string& message) {
    files.write("pairs.tsv", others + line + "\n");
    BOOST_CHECK_EXCEPTION(transcription_task().start(args), Error, says(message));
  };
  rejects("long.wav\tup", files.path("long.wav") +
                              ": the recording has 0.30 seconds, but the model reads at most 0.20");
  rejects("broken.wav\tup", files.path("broken.wav") + ": not a WAV or FLAC file");
  rejects("missing.wav\tup", files.path("missing.wav"));
  rejects(".//a.wav\tabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
          "tokens, but the model has 32 positions: split");
  BOOST_CHECK_EXCEPTION(
      spectrogram_of({std::vector<float>(350000), 1000}, {.rate = 768000, .chunk_seconds = 1}),
      DataError,
      says("the recording has 350 seconds: at 768000 samples per second, these are more "
           "than the supported 268435456 samples: split it"));
}

BOOST_AUTO_TEST_CASE(masks_of_spectrograms_are_ranges_of_zeros_and_depend_on_seed_step_and_row) {
  const SpectrogramMasking how{.time_masks = 2, .time_width = 5, .mel_masks = 1, .mel_width = 3};
  const auto masked = [&](std::uint64_t seed, std::int64_t step, std::int64_t index) {
    Tensor batch = Tensor::full(DType::f32, {2, 8, 30}, 1);
    mask_spectrogram(batch, 1, how, seed, step, index);
    for (std::int64_t i = 0; i < 8 * 30; ++i) BOOST_TEST_REQUIRE(batch.at(i) == 1);  // row 0
    return batch;
  };
  const Tensor batch = masked(1, 2, 3);
  BOOST_TEST(bitwise_equal(batch, masked(1, 2, 3)));
  int different = 0;
  for (const Tensor& other : {masked(2, 2, 3), masked(1, 3, 3), masked(1, 2, 4)})
    different += bitwise_equal(batch, other) ? 0 : 1;
  BOOST_TEST(different > 1);
  // An element is 0 if its frame or its bin is masked.
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    const Tensor one = masked(static_cast<std::uint64_t>(seed), 0, 0);
    std::vector<bool> bins(8, true), frames(30, true);
    for (std::int64_t b = 0; b < 8; ++b) {
      for (std::int64_t t = 0; t < 30; ++t) {
        if (one.at(240 + b * 30 + t) != 0) bins[static_cast<std::size_t>(b)] = false;
        if (one.at(240 + b * 30 + t) != 0) frames[static_cast<std::size_t>(t)] = false;
      }
    }
    BOOST_TEST(std::count(bins.begin(), bins.end(), true) <= 3);
    BOOST_TEST(std::count(frames.begin(), frames.end(), true) <= 10);
  }
  // Wider masks than the spectrogram are limited to it.
  Tensor small = Tensor::full(DType::f32, {1, 2, 2}, 1);
  mask_spectrogram(small, 0, {.time_masks = 9, .time_width = 100, .mel_masks = 9}, 1, 0, 0);
  BOOST_CHECK_EXCEPTION(SpectrogramMasking{.time_masks = -1}.check(), ArgumentError,
                        says("time_masks"));
  BOOST_CHECK_EXCEPTION(SpectrogramMasking{.mel_width = 0}.check(), ArgumentError,
                        says("mel_width"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
