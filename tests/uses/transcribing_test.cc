// Speech recognition with Whisper folders and files, in C++ and with weft transcribe.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <sstream>

#include "folder_round_trip.h"
#include "speech_folder.h"
#include "weft/core/error.h"
#include "weft/models/tasks/speech/recordings.h"
#include "weft/models/tasks/speech/speech_ids.h"
#include "weft/models/tasks/speech/speech_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(transcribing)
namespace {

using nlohmann::json;
using testing::made_up_speech;
using testing::says;
using testing::TemporaryFolder;
using testing::TinyWhisper;
using testing::write_whisper;

/// A model in a session.
struct Opened {
  explicit Opened(const std::string& path, int threads = 1)
      : model(load_model_for(Use::transcribe, path).model),
        session(*model->graph, model->store, {.threads = threads}) {}

  Transcript operator()(const std::vector<float>& samples, const TranscribeOptions& options = {}) {
    return transcribe(session, *model, {samples, 16000}, options);
  }
  const SpeechModel& speech() const { return model->as<SpeechModel>(Use::transcribe); }

  std::unique_ptr<TrainedModel> model;
  Session session;
};

/// Computes logits with the whole class, without caches.
class WholeModel {
 public:
  explicit WholeModel(const std::string& path) : folder_(hf::read_folder(path)) {}

  std::vector<float> last_logits(const Tensor& features, const TokenIds& ids) {
    Graph graph;
    const hf::Model model =
        hf::build_model(graph, folder_.config,
                        {{"input_features", {DType::f32, features.sizes()}},
                         {"decoder_input_ids", {DType::i64, {1, std::ssize(ids)}}}});
    Program program("logits");
    program.output("logits", model.outputs.at("logits"));
    Session session(graph, hf::load_weights(model, graph, folder_), {.threads = 1});
    const Results found = session.run(
        program, {{"input_features", features},
                  {"decoder_input_ids", Tensor::of<std::int64_t>({1, std::ssize(ids)}, ids)}});
    const auto all = found["logits"].span<float>();
    const auto vocab = static_cast<std::size_t>(found["logits"].size(2));
    return {all.end() - static_cast<std::ptrdiff_t>(vocab), all.end()};
  }

 private:
  hf::Folder folder_;
};

std::int64_t best_of(std::vector<float> logits, const std::vector<std::int64_t>& forbidden) {
  for (const std::int64_t id : forbidden) logits[static_cast<std::size_t>(id)] = -INFINITY;
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

void check_times(const Transcript& found, double seconds) {
  double before = 0;
  for (const SpeechSegment& segment : found.segments) {
    BOOST_TEST(segment.start >= before - 1e-9);
    BOOST_TEST(segment.end >= segment.start);
    BOOST_TEST(segment.end <= seconds + 1e-9);
    before = segment.start;
  }
}

}  // namespace

// Without times, greedy search is a loop over the whole model.
BOOST_AUTO_TEST_CASE(greedy_transcripts_are_the_most_likely_ids_of_the_class) {
  const TemporaryFolder folder("whisper");
  const std::string path = write_whisper(folder);
  Opened opened(path);
  const SpeechSettings& s = opened.speech().speech();
  const std::vector<float> samples = made_up_speech(0.7);
  const Transcript found = opened(samples, {.language = "de", .task = "translate"});
  const Tensor features =
      spectrogram_window(spectrogram_of({samples, 16000}, opened.speech().features), 0, 100);
  WholeModel whole(path);
  TokenIds ids = {opened.speech().start_id(), s.languages.at("de"), s.tasks.at("translate"),
                  s.no_timestamps_id};
  const std::size_t start = ids.size();
  while (ids.size() < 48) {
    std::vector<std::int64_t> forbidden = {5, 7};
    if (ids.size() == start) forbidden.insert(forbidden.end(), {0, 9});
    ids.push_back(best_of(whole.last_logits(features, ids), forbidden));
    if (ids.back() == 0) break;
  }
  if (ids.back() == 0) ids.pop_back();
  BOOST_REQUIRE(found.segments.size() == 1U);
  BOOST_TEST((found.segments[0].ids == TokenIds(ids.begin() + 4, ids.end())));
  BOOST_TEST(found.language == "de");
  BOOST_TEST(found.seconds == 0.7, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(the_language_is_the_most_likely_one_after_the_start_id) {
  const TemporaryFolder folder("whisper");
  const std::string path = write_whisper(folder);
  Opened opened(path);
  const SpeechSettings& s = opened.speech().speech();
  for (const double seconds : {0.3, 0.9}) {
    const std::vector<float> samples = made_up_speech(seconds);
    const Tensor features =
        spectrogram_window(spectrogram_of({samples, 16000}, opened.speech().features), 0, 100);
    const std::vector<float> logits =
        WholeModel(path).last_logits(features, {opened.speech().start_id()});
    std::string expected;
    for (const auto& [code, id] : s.languages) {
      if (expected.empty() || logits[static_cast<std::size_t>(id)] >
                                  logits[static_cast<std::size_t>(s.languages.at(expected))])
        expected = code;
    }
    for (const std::int64_t beams : {1, 3}) {
      const Transcript found = opened(samples, {.beams = beams});
      BOOST_TEST(found.language == expected);
      const Transcript given = opened(samples, {.language = expected, .beams = beams});
      BOOST_TEST((found.segments[0].ids == given.segments[0].ids));
    }
  }
}

BOOST_AUTO_TEST_CASE(languages_may_be_codes_tokens_or_names) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder));
  for (const auto& [given, code] : std::vector<std::pair<std::string, std::string>>{
           {"en", "en"}, {"<|de|>", "de"}, {"English", "en"}, {"HAWAIIAN", "haw"}})
    BOOST_TEST(speech_language(opened.speech(), given) == code);
  const json ids = {{"<|ht|>", 1}, {"<|zh|>", 2}};
  Opened other(write_whisper(folder, {.generation = {{"lang_to_id", ids}}}));
  for (const auto& [given, code] : std::vector<std::pair<std::string, std::string>>{
           {"Haitian Creole", "ht"}, {"haitian", "ht"}, {"chinese", "zh"}, {"Mandarin", "zh"}})
    BOOST_TEST(speech_language(other.speech(), given) == code);
  for (const char* unknown : {"xx", "french", "", ":", "en de", "english zh:chinese"}) {
    BOOST_CHECK_EXCEPTION(speech_language(opened.speech(), unknown), ArgumentError,
                          says(fmt::format("unknown language '{}'", unknown)));
  }
}

BOOST_AUTO_TEST_CASE(segments_have_ordered_times_in_recordings_of_any_length) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder));
  const std::int64_t first = opened.speech().speech().first_timestamp_id();
  for (const double seconds : {0.000125, 0.5, 1.0, 1.01, 2.6}) {
    for (const std::int64_t beams : {1, 2}) {
      const Transcript found =
          opened(made_up_speech(seconds), {.language = "en", .timestamps = true, .beams = beams});
      check_times(found, seconds);
      for (const SpeechSegment& segment : found.segments) {
        for (const std::int64_t id : segment.ids) BOOST_TEST(id <= first + 50);
        BOOST_TEST(segment.ids.front() >= first);
      }
    }
  }
}

// Times are used in long recordings even if they are not requested.
BOOST_AUTO_TEST_CASE(long_recordings_are_decoded_in_windows) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder));
  const Transcript with = opened(made_up_speech(3.3), {.language = "en", .timestamps = true});
  const Transcript without = opened(made_up_speech(3.3), {.language = "en"});
  BOOST_TEST(with.segments.size() > 1U);
  BOOST_TEST(with.text == without.text);
  check_times(with, 3.3);
  // Text of earlier windows changes the later ones only if it is requested.
  TranscribeOptions conditioned{.language = "en", .condition_on_previous = true};
  const Transcript continued = opened(made_up_speech(3.3), conditioned);
  BOOST_TEST((continued.segments[0].ids == without.segments[0].ids));
  BOOST_TEST(continued.text != without.text);
  conditioned.condition_on_previous = false;
  BOOST_TEST(opened(made_up_speech(3.3), conditioned).text == without.text);
}

BOOST_AUTO_TEST_CASE(models_without_times_advance_by_whole_windows) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder, {.timestamps = false}));
  const Transcript found = opened(made_up_speech(2.5), {.language = "en"});
  BOOST_REQUIRE(found.segments.size() == 3U);
  for (std::size_t i = 0; i < 3; ++i)
    BOOST_TEST(found.segments[i].start == static_cast<double>(i),
               boost::test_tools::tolerance(1e-9));
  BOOST_CHECK_EXCEPTION(opened(made_up_speech(0.5), {.timestamps = true}), ArgumentError,
                        says("the model has no ids for timestamps"));
}

BOOST_AUTO_TEST_CASE(prompts_precede_the_recording) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder));
  const TranscribeOptions plain{.language = "en"};
  TranscribeOptions prompted = plain;
  prompted.prompt = "the grand old duke of york";
  BOOST_TEST(opened(made_up_speech(0.5), prompted).text != opened(made_up_speech(0.5), plain).text);
  // The last tokens of a long prompt are used.
  for (int i = 0; i < 6; ++i) prompted.prompt += prompted.prompt;
  check_times(opened(made_up_speech(0.5), prompted), 0.5);
}

BOOST_AUTO_TEST_CASE(windows_that_fail_a_threshold_are_decoded_at_higher_temperatures) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder)), threads(write_whisper(folder), 2);
  TranscribeOptions options = TranscribeOptions::with_fallback();
  options.language = "en";
  options.no_speech_threshold.reset();
  options.logprob_threshold = 0;  // no output passes
  const Transcript last = opened(made_up_speech(0.5), options);
  BOOST_TEST(last.segments.front().temperature == 1);
  BOOST_TEST(last.segments.front().mean_log_probability < 0);
  BOOST_TEST(threads(made_up_speech(0.5), options).text == last.text);
  options.seed = 2;
  BOOST_TEST(opened(made_up_speech(0.5), options).text != last.text);
  options.logprob_threshold = -1000;
  options.compression_threshold = 1000;
  BOOST_TEST(opened(made_up_speech(0.5), options).segments.front().temperature == 0);
  options.compression_threshold = 0;
  BOOST_TEST(opened(made_up_speech(0.5), options).segments.front().temperature == 1);
  // "No speech" skips the window if the text is unlikely, too.
  options.compression_threshold.reset();
  options.logprob_threshold = 0;
  options.no_speech_threshold = 0;
  BOOST_TEST(opened(made_up_speech(0.5), options).segments.empty());
  options.no_speech_threshold = 1;
  BOOST_TEST(opened(made_up_speech(0.5), options).segments.front().no_speech.has_value());
}

BOOST_AUTO_TEST_CASE(windows_are_sampled_with_the_filters_of_the_folder) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder, {.generation = {{"do_sample", true}, {"top_k", 1}}}));
  const Transcript greedy = opened(made_up_speech(0.5), {.language = "en"});
  const Transcript sampled = opened(made_up_speech(0.5), {.language = "en", .temperatures = {0.9}});
  BOOST_TEST((sampled.segments[0].ids == greedy.segments[0].ids));
}

BOOST_AUTO_TEST_CASE(lengths_and_times_beyond_the_context_are_limited_to_it) {
  const TemporaryFolder folder("whisper");
  const TranscribeOptions options{.language = "en", .timestamps = true};
  const auto text_with = [&](const json& generation) {
    Opened opened(write_whisper(folder, {.generation = generation}));
    return opened(made_up_speech(0.8), options).text;
  };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const char* key : {"max_new_tokens", "max_length", "max_initial_timestamp_index"})
    BOOST_TEST(text_with({{key, most}}) == text_with({{key, 1000}}), key);
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_are_rejected_by_name) {
  const TemporaryFolder folder("whisper");
  const auto rejected = [&](const json& generation, const std::string& name) {
    write_whisper(folder, {.generation = generation});
    BOOST_CHECK_EXCEPTION(Opened(folder.path()), FormatError,
                          says(fmt::format("{}: the id 1000000 of {} is outside the vocabulary",
                                           folder.path(), name)));
  };
  rejected({{"no_timestamps_token_id", 1000000}}, "no_timestamps_token_id");
  rejected({{"prev_sot_token_id", 1000000}}, "prev_sot_token_id");
  rejected({{"lang_to_id", {{"<|en|>", 1000000}}}}, "language 'en'");
  rejected({{"task_to_id", {{"translate", 1000000}}}}, "task 'translate'");
}

BOOST_AUTO_TEST_CASE(errors_of_a_recording_contain_its_path) {
  const TemporaryFolder folder("whisper");
  const std::int64_t vocab = Opened(write_whisper(folder)).speech().config.vocab;
  json all = json::array();
  for (std::int64_t id = 0; id < vocab; ++id) all.push_back(id);
  Opened opened(write_whisper(folder, {.generation = {{"suppress_tokens", all}}}));
  const Shell files;
  files.write("a.wav", testing::audio_file(made_up_speech(0.5), 16000));
  BOOST_CHECK_EXCEPTION(
      transcribe_files(opened.session, *opened.model, {files.path("a.wav")}, {.language = "en"}),
      DataError, says(files.path("a.wav") + ": the options exclude every id"));
}

BOOST_AUTO_TEST_CASE(english_models_have_neither_languages_nor_tasks) {
  const TemporaryFolder folder("whisper");
  Opened opened(write_whisper(folder, {.multilingual = false}));
  const Transcript found = opened(made_up_speech(0.5));
  BOOST_TEST(found.language.empty());
  BOOST_CHECK_EXCEPTION(opened(made_up_speech(0.5), {.language = "en"}), ArgumentError,
                        says("the model transcribes English only: leave out the language 'en'"));
  BOOST_CHECK_EXCEPTION(opened(made_up_speech(0.5), {.task = "translate"}), ArgumentError,
                        says("the model transcribes English only: leave out the task"));
}

BOOST_AUTO_TEST_CASE(settings_of_the_folder_are_the_defaults) {
  const TemporaryFolder folder("whisper"), old_folder("old");
  write_whisper(folder, {.generation = {{"language", "<|de|>"},
                                        {"task", "translate"},
                                        {"return_timestamps", true},
                                        {"condition_on_prev_tokens", true},
                                        {"compression_ratio_threshold", 2.5},
                                        {"logprob_threshold", -0.5},
                                        {"no_speech_threshold", 0.25}}});
  Opened opened(folder.path());
  const SpeechSettings& s = opened.speech().speech();
  BOOST_TEST(s.timestamps);
  BOOST_TEST(s.condition_on_previous);
  BOOST_TEST(s.compression_threshold.value() == 2.5);
  BOOST_TEST(s.logprob_threshold.value() == -0.5);
  BOOST_TEST(s.no_speech_threshold.value() == 0.25);
  BOOST_TEST((SpeechSettings::from_json(s.to_json()) == s));
  std::string newer = s.to_json();
  newer.insert(1, R"("pace": 2, )");
  check_error_message<FormatError>([&] { SpeechSettings::from_json(newer); },
                                   "the speech settings: 'pace' is unknown");
  const Transcript found = opened(made_up_speech(0.5));
  BOOST_TEST(found.language == "de");
  // Older folders have forced ids, and the ids follow from the names of the tokens.
  write_whisper(old_folder);
  const SpeechSettings known = Opened(old_folder.path()).speech().speech();
  old_folder.write("generation_config.json",
                   json{{"eos_token_id", 0},
                        {"decoder_start_token_id", known.languages.at("de") - 2},
                        {"forced_decoder_ids",
                         {{1, known.languages.at("de")}, {2, known.tasks.at("translate")}}}}
                       .dump());
  Opened old(old_folder.path());
  BOOST_TEST((old.speech().speech().languages == known.languages));
  BOOST_TEST((old.speech().speech().tasks == known.tasks));
  BOOST_TEST(old.speech().speech().no_timestamps_id == known.no_timestamps_id);
  BOOST_TEST(old.speech().speech().previous_id == known.previous_id);
  BOOST_TEST(old(made_up_speech(0.5)).language == "de");
  BOOST_TEST(speech_task_name(old.speech(), "") == "translate");
  BOOST_TEST(speech_task_name(old.speech(), "transcribe") == "transcribe");
}

BOOST_AUTO_TEST_CASE(whisper_folders_round_trip_with_their_settings) {
  const TemporaryFolder folder("whisper"), files("files");
  write_whisper(folder);
  testing::check_round_trip(folder.path(), {"the grand old duke", "", "<|de|> up"});
  const auto loaded = load_any_model(folder.path());
  save_model(files.path("model.weft"), *loaded.model);
  const auto read = load_any_model(files.path("model.weft"));
  save_folder(files.path("again"), *read.model);
  for (const char* name : {"generation_config.json", "preprocessor_config.json"})
    BOOST_TEST(read_whole_file(files.path("again/") + name) == read_whole_file(folder.path(name)));
  Opened before(folder.path()), after(files.path("model.weft"));
  const TranscribeOptions options{.timestamps = true};
  BOOST_TEST(
      (before(made_up_speech(1.5), options).text == after(made_up_speech(1.5), options).text));
  // Without the original files, the settings are written again and mean the same.
  auto model = std::make_unique<SpeechModel>(before.speech());
  model->origin.reset();
  save_folder(files.path("new"), *model);
  Opened anew(files.path("new"));
  BOOST_TEST((anew.speech().speech() == before.speech().speech()));
  BOOST_TEST((anew.speech().features == before.speech().features));
  BOOST_TEST(
      (before(made_up_speech(1.5), options).text == anew(made_up_speech(1.5), options).text));
}

BOOST_AUTO_TEST_CASE(weft_transcribe_prints_text_segments_subtitles_and_json) {
  const TemporaryFolder folder("whisper");
  const std::string command = "transcribe " + write_whisper(folder) + " --threads 1 ";
  const Shell weft;
  weft.write("a.wav", testing::audio_file(made_up_speech(0.8), 16000));
  weft.write("b.flac", testing::audio_file(made_up_speech(1.7, 8000), 8000,
                                           SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  const std::string a = weft.path("a.wav"), both = a + " " + weft.path("b.flac");
  const auto run = [&](const std::string& arguments) {
    const Outcome found = weft(command + arguments);
    BOOST_TEST(found.code == 0, found.err);
    return found.out;
  };
  Opened opened(folder.path());
  const Transcript plain = opened(decode_audio(read_whole_file(a), "a").samples);
  BOOST_TEST(run(a) == plain.text + "\n");
  const std::string out = run(both + " --json --timestamps --language english");
  BOOST_TEST(std::count(out.begin(), out.end(), '\n') == 2);
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const json object = json::parse(line);
    BOOST_TEST(object.at("language") == "en");
    BOOST_TEST(object.at("seconds").get<double>() > 0.7);
    for (const json& segment : object.at("segments")) {
      for (const char* key : {"start", "end", "text", "ids", "temperature", "mean_log_probability",
                              "compression_ratio"})
        BOOST_TEST(segment.contains(key), key);
    }
  }
  const std::string times = run(a + " --timestamps");
  BOOST_TEST(times.starts_with("[0."));
  BOOST_TEST(times.find(" --> ") != std::string::npos);
  BOOST_TEST(run(a + " --format srt").starts_with("1\n00:00:00,"));
  BOOST_TEST(run(a + " --format vtt").starts_with("WEBVTT\n\n00:00:00."));
  for (const char* options :
       {"--fallback", "--beams 2", "--temperature 0.7 --seed 3", "--task translate --prompt up",
        "--condition-on-previous", "--logprob-threshold -3 --no-speech-threshold 0.9",
        "--fallback --compression-threshold 3"})
    run(both + " " + options);
  BOOST_TEST(weft("inspect " + folder.path()).code == 0);
  BOOST_TEST(weft("convert " + folder.path() + " --out " + weft.path("w.weft")).code == 0);
  for (const std::string caches : {"f32", "int8"}) {
    const Outcome made = weft("quantize " + weft.path("w.weft") + " --out " + weft.path("q.weft") +
                              " --force --caches " + caches);
    BOOST_TEST(made.code == 0, made.err);
    BOOST_TEST(contains(made.out, "key/value caches as int8") == (caches == "int8"), made.out);
    for (const char* options : {"", " --beams 2"})
      BOOST_TEST(weft("transcribe " + weft.path("q.weft") + " " + a + options).code == 0);
  }
}

BOOST_AUTO_TEST_CASE(weft_transcribe_reports_invalid_input_by_name) {
  const TemporaryFolder folder("whisper");
  const std::string command = "transcribe " + write_whisper(folder) + " ";
  const Shell weft;
  weft.write("a.wav", testing::audio_file(made_up_speech(0.5), 16000));
  weft.write("text.wav", "no audio");
  const std::string a = weft.path("a.wav"), bad = weft.path("text.wav");
  check_error(weft(command + a + " " + bad), 1,
              bad + ": not a WAV or FLAC file: convert it to one of them");
  check_error(weft(command + weft.path("missing.wav")), 1, "missing.wav");
  check_error(weft(command), 2, "recordings");
  check_error(weft(command + a + " --language klingon"), 2,
              "unknown language 'klingon'; available: de, en, haw");
  check_error(weft(command + a + " --json --format srt"), 2,
              "--json and --format are two formats: leave out one of them");
  check_error(weft(command + a + " " + a + " --format srt"), 2,
              "--format writes the subtitles of one recording");
  check_error(weft(command + a + " --no-speech-threshold 0.5"), 2,
              "no_speech_threshold has no effect without logprob_threshold");
  check_error(weft(command + a + " --task sing"), 2, "--task");
  const std::string unused = " has no effect without ";
  check_error(weft(command + a + " --seed 3"), 2, "--seed" + unused);
  check_error(weft(command + a + " --beams 2 --temperature 1"), 2, "--beams" + unused);
  check_error(weft(command + a + " --compression-threshold 3"), 2,
              "--compression-threshold" + unused + "--fallback");
  check_error(weft(command + a + " --logprob-threshold -1"), 2, "--logprob-threshold" + unused);
  const TemporaryFolder other("bart");
  check_error(weft("transcribe " + testing::write_bart(other) + " " + a), 1,
              "which does not transcribe speech");
  check_error(weft("translate " + folder.path() + " up"), 1, "does not translate");
}

// A folder without a tokenizer, such as a model with random weights, prints ids.
BOOST_AUTO_TEST_CASE(models_without_a_tokenizer_print_ids) {
  const Shell weft;
  weft.write("a.wav", testing::audio_file(made_up_speech(0.5), 16000));
  const Outcome found = weft("transcribe " + std::string(WEFT_FIXTURES) +
                             "/goldens/whisper-default " + weft.path("a.wav") + " --threads 1");
  BOOST_TEST(found.code == 0, found.err);
  BOOST_TEST(found.out.find_first_not_of("0123456789 \n") == std::string::npos);
  BOOST_TEST(found.out.size() > 2U);
  const std::string command =
      "transcribe " + std::string(WEFT_FIXTURES) + "/goldens/whisper-default " + weft.path("a.wav");
  BOOST_TEST(weft(command + " --fallback").code == 0);
  check_error(weft(command + " --logprob-threshold -1 --no-speech-threshold 0.5"), 2,
              "--no-speech-threshold: the model has no id for \"no speech\": leave it out");
}

BOOST_AUTO_TEST_CASE(recordings_of_a_speech_synthesiser_are_transcribed) {
  if (std::system("command -v espeak-ng >/dev/null") != 0) {
    BOOST_TEST_MESSAGE("skipped: espeak-ng is not installed");
    return;
  }
  const TemporaryFolder folder("whisper");
  const Shell weft;
  for (const char* how : {"-w ", "--stdout > "}) {
    const std::string wav = weft.path("spoken.wav");
    BOOST_REQUIRE(std::system(("espeak-ng 'she lives in York' " + (how + wav)).c_str()) == 0);
    const Outcome found =
        weft("transcribe " + write_whisper(folder) + " " + wav + " --threads 1 --timestamps");
    BOOST_TEST(found.code == 0, found.err);
    BOOST_TEST(found.out.starts_with("["));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
