#include "workspace.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/audio_files.h"
#include "weft/tests/support/image_files.h"

namespace weft::attack {
namespace {

namespace fs = std::filesystem;

/// Splits a command line at its spaces.
Arguments split_words(const std::string& line) {
  Arguments result;
  std::string word;
  for (const char c : line + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      result.push_back(std::exchange(word, {}));
    }
  }
  return result;
}

}  // namespace

Workspace::Workspace(const std::string& program, const std::string& goldens,
                     const std::string& folder, bool sanitized)
    : folder_(folder), program_(program, folder, sanitized) {
  fs::create_directories(folder_);
  write_data();
  for (const char* name : {"gpt2-default", "bert-qa-default", "t5-v1.1-default", "vit-mim-default",
                           "albert-mlm-default", "whisper-default"})
    fs::copy(fs::path(goldens) / name, folder_ / name,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  shard("gpt2-default", "gpt2-sharded");
  add_tokenizer("albert-mlm-default");
  train();
  list_readers();
}

// Writes a copy of a model folder with its tensors split into two shard files, as is usual for
// large models.
void Workspace::shard(const std::string& from, const std::string& to) const {
  fs::create_directories(folder_ / to);
  for (const char* name : {"config.json", "inputs.safetensors"})
    fs::copy_file(folder_ / from / name, folder_ / to / name);
  TensorMap halves[2];
  std::string index;
  for (const auto& [name, tensor] : read_safetensors(path(from + "/model.safetensors")).tensors) {
    const std::size_t half = halves[0].size() > halves[1].size() ? 1 : 0;
    index +=
        fmt::format("{}\"{}\": \"half-{}.safetensors\"", index.empty() ? "" : ", ", name, half);
    halves[half].emplace(name, tensor);
  }
  for (int i : {0, 1})
    write_safetensors(path(fmt::format("{}/half-{}.safetensors", to, i)), halves[i]);
  write(to + "/model.safetensors.index.json",
        "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {" + index + "}}");
}

// Adds a SentencePiece tokenizer in the Hugging Face format to an encoder folder.
void Workspace::add_tokenizer(const std::string& to) const {
  const std::vector<std::string> texts = {read("text.txt"), read("mail.tsv"), read("pairs.tsv"),
                                          read("documents.txt")};
  write(to + "/spiece.model", SentencePieceTokenizer::train(texts, {.vocab = 109}).to_bytes());
}

void Workspace::write_data() const {
  std::string text, mail, pairs, train_rows, test_rows, documents;
  for (int i = 0; i < 100; ++i) {
    text += fmt::format("all work and no play makes jack a dull boy {}\n", i % 7);
    documents +=
        fmt::format("the {} cat sat. on a mat {}\n{}", i % 3, i % 5, i % 4 == 3 ? "\n" : "");
    mail += fmt::format("{}\t{} there {} friend\n", i % 2 == 0 ? "ham" : "spam",
                        i % 2 == 0 ? "hello" : "buy", i % 7);
  }
  const char* const ours[] = {"one", "two", "three", "four", "five", "six"};
  const char* const theirs[] = {"ett", "tva", "tre", "fyra", "fem", "sex"};
  for (int a = 0; a < 36; ++a) {
    pairs += fmt::format("{} and {}.\t{} och {}.\n", ours[a / 6], ours[a % 6], theirs[a / 6],
                         theirs[a % 6]);
  }
  for (int i = 0; i < 60; ++i) {
    std::string& rows = i < 40 ? train_rows : test_rows;
    for (int p = 0; p < 16; ++p)
      rows += fmt::format("{},", ((p < 8) == (i % 2 == 0) ? 9 : 0) + (i * 7 + p * 5) % 8);
    rows += fmt::format("{}\n", i % 2);
  }
  write("text.txt", text);
  write("documents.txt", documents);
  write("mail.tsv", mail);
  write("pairs.tsv", pairs);
  write("lines.txt", "one and two.\nsix and six.\n");
  write("digits/digits.tra", train_rows);
  write("digits/digits.tes", test_rows);
  write("table.csv", train_rows + test_rows);
  write("a.png", testing::colour_png());
  write("a.bmp", testing::colour_bmp());
  write("a.jpg", testing::grey_jpeg());
  const std::vector<float> tone = testing::tone(440, 0.3, 8000);
  write("a.wav", testing::audio_file(tone, 8000));
  write("float.wav", testing::audio_file(tone, 8000, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 2));
  write("a.flac", testing::audio_file(tone, 8000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  // Two images of 2 x 3 pixels with their labels.
  write("mnist/train-images-idx3-ubyte",
        testing::unhex("00000803000000020000000200000003000102030405060708090a0b"));
  write("mnist/train-labels-idx1-ubyte", testing::unhex("00000801000000020001"));
}

// Runs a command that must succeed.
void Workspace::run_or_throw(const Arguments& arguments) const {
  const Outcome outcome = program_(arguments);
  if (outcome.code == 0) return;
  throw std::runtime_error(
      fmt::format("{}: exit code {}: {}", command_line(arguments), outcome.code, outcome.err));
}

void Workspace::train() {
  const std::string small =
                        " --width 8 --batch 4 --threads 2 --steps 3 --eval-every 1 --save-every 1",
                    encoder = " --layers 1 --heads 1 --inner 16 --context 16";
  tasks_ = {
      {"gpt", split_words("train gpt --layers 1 --heads 1 --context 8 --text " + path("text.txt") +
                          small)},
      {"mlm", split_words("train encoder --task mlm --vocab 60 --text " + path("text.txt") +
                          encoder + small)},
      {"mail", split_words("train encoder --task classify --vocab 45 --data " + path("mail.tsv") +
                           encoder + small)},
      {"vit",
       split_words("train vit --image-height 4 --image-width 4 --layers 1 --heads 1 --inner 16 "
                   "--padding 0 --shift 0 --rotation 0 --warmup 1 --data " +
                   path("digits") + small)},
      {"mim",
       split_words(
           "train vit --task masked-image --image-height 4 --image-width 4 --layers 1 --heads 1 "
           "--inner 16 --warmup 1 --data " +
           path("digits") + small)},
      {"translator",
       split_words("train seq2seq --vocab 60 --validation-fraction 0.1 --encoder-layers 1 "
                   "--decoder-layers 1 --encoder-heads 1 --decoder-heads 1 --encoder-inner 16 "
                   "--decoder-inner 16 --pairs " +
                   path("pairs.tsv") + small)},
  };
  for (const Task& task : tasks_) {
    Arguments arguments = task.arguments;
    arguments.insert(arguments.end(), {"--out", path(task.name + ".weft")});
    run_or_throw(arguments);
  }
  run_or_throw({"train", "gpt", "--from", path("gpt.weft"), "--text", path("text.txt"),
                "--lora-rank", "2", "--steps", "2", "--batch", "2", "--out", path("lora.weft")});
  run_or_throw({"quantize", path("gpt.weft"), "--out", path("quantized.weft")});
  run_or_throw({"merge", path("gpt.weft"), "--adapters", path("lora.lora.safetensors"), "--out",
                path("merged.weft")});
}

void Workspace::list_readers() {
  const std::string out = path("o.weft");
  const auto add = [&](std::string name, Kind kind, std::initializer_list<std::string> lines) {
    for (const std::string& line : lines) readers_.push_back({name, kind, split_words(line)});
  };
  const std::string text = path("text.txt"), mail = path("mail.tsv"), digits = path("digits"),
                    pairs = path("pairs.tsv");
  for (const Task& task : tasks_) {
    add(task.name + ".weft", Kind::weft,
        {"verify {}", "inspect {}", "inspect {} --graph",
         "quantize {} --weights int4 --out " + out});
  }
  add("gpt.weft", Kind::weft,
      {"generate {} --prompt a --tokens 3 --temperature 0.7",
       "generate {} --prompt a --tokens 3 --greedy", "score {} --prompt al --continuation l",
       "evaluate {} --text " + text,
       "train gpt --resume {} --steps 4 --text " + text + " --out " + out,
       "train gpt --from {} --steps 1 --batch 2 --text " + text + " --out " + out,
       "merge {} --adapters " + path("lora.lora.safetensors") + " --out " + out});
  add("mlm.weft", Kind::weft,
      {"evaluate {} --text " + text,
       "train encoder --task mlm --resume {} --steps 4 --text " + text + " --out " + out});
  add("mail.weft", Kind::weft,
      {"classify {} hello buy", "evaluate {} --data " + mail,
       "train encoder --task classify --resume {} --steps 4 --data " + mail + " --out " + out});
  add("vit.weft", Kind::weft,
      {"classify {} " + path("a.png"), "evaluate {} --data " + digits,
       "train vit --resume {} --steps 4 --data " + digits + " --out " + out});
  add("mim.weft", Kind::weft,
      {"evaluate {} --data " + digits,
       "train vit --task masked-image --resume {} --steps 4 --data " + digits + " --out " + out});
  add("quantized.weft", Kind::weft,
      {"verify {}", "inspect {} --variables", "evaluate {} --text " + text,
       "generate {} --prompt a --tokens 3 --greedy", "score {} --prompt al --continuation l"});
  add("merged.weft", Kind::weft,
      {"generate {} --prompt a --tokens 3 --temperature 0.7",
       "train gpt --from {} --steps 1 --batch 2 --text " + text + " --out " + out});
  add("lora.weft", Kind::weft,
      {"verify {}", "inspect {} --programs", "generate {} --prompt a --tokens 3 --greedy",
       "train gpt --resume {} --steps 4 --text " + text + " --out " + out});
  add("mlm.weft", Kind::weft,
      {"train encoder --task classify --from {} --steps 1 --batch 2 --data " + mail + " --out " +
       out});
  add("translator.weft", Kind::weft,
      {"translate {} one --beams 2", "evaluate {} --pairs " + pairs,
       "train seq2seq --resume {} --steps 4 --pairs " + pairs + " --out " + out});
  add("lora.lora.safetensors", Kind::safetensors,
      {"verify {}", "merge " + path("gpt.weft") + " --adapters {} --out " + out});
  for (const std::string name :
       {"gpt2-default", "bert-qa-default", "t5-v1.1-default", "vit-mim-default"}) {
    const std::string run = "run " + path(name) + " --outputs " + path("o.safetensors") +
                            " --inputs " + path(name + "/inputs.safetensors");
    add(name + "/config.json", Kind::json, {run});
    add(name + "/model.safetensors", Kind::safetensors, {run, "verify {}"});
    add(name + "/inputs.safetensors", Kind::safetensors, {run});
  }
  for (const std::string name :
       {"gpt2-sharded/config.json", "gpt2-sharded/half-0.safetensors",
        "gpt2-sharded/half-1.safetensors", "gpt2-sharded/model.safetensors.index.json"}) {
    add(name, name.ends_with(".json") ? Kind::json : Kind::safetensors,
        {"run " + path("gpt2-sharded") + " --outputs " + path("o.safetensors") + " --inputs " +
             path("gpt2-sharded/inputs.safetensors"),
         "generate " + path("gpt2-sharded") + " --prompt-ids 1 --ids --tokens 2",
         "verify " + path("gpt2-sharded")});
  }
  for (const std::string name :
       {"albert-mlm-default/spiece.model", "albert-mlm-default/config.json",
        "albert-mlm-default/model.safetensors"}) {
    add(name,
        name.ends_with(".json")    ? Kind::json
        : name.ends_with(".model") ? Kind::binary
                                   : Kind::safetensors,
        {"train encoder --task classify --from " + path("albert-mlm-default") +
         " --steps 1 --batch 2 --warmup 0 --data " + mail + " --out " + out});
  }
  add("gpt2-default/config.json", Kind::json,
      {"generate " + path("gpt2-default") + " --prompt-ids 1 --ids --tokens 2",
       "score " + path("gpt2-default") + " --prompt-ids 1 --continuation-ids 3"});
  add("gpt2-default/generation_config.json", Kind::json,
      {"generate " + path("gpt2-default") + " --prompt-ids 1 --ids --tokens 2"});
  add("text.txt", Kind::text,
      {"train gpt --layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 1 --text {} --out " +
           out,
       "train encoder --task mlm --layers 1 --heads 1 --width 8 --inner 16 --context 16 --vocab 60 "
       "--batch 2 --steps 1 --text {} --out " +
           out,
       "evaluate " + path("gpt.weft") + " --text {}"});
  add("documents.txt", Kind::text,
      {"train encoder --task mlm+nsp --layers 1 --heads 1 --width 8 --inner 16 --context 16 "
       "--vocab 40 --batch 2 --steps 1 --text {} --out " +
       out});
  add("mail.tsv", Kind::text,
      {"train encoder --task classify --layers 1 --heads 1 --width 8 --inner 16 --context 16 "
       "--vocab 45 --batch 2 --steps 1 --data {} --out " +
           out,
       "evaluate " + path("mail.weft") + " --data {}"});
  add("pairs.tsv", Kind::text,
      {"train seq2seq --vocab 50 --validation-fraction 0.1 --encoder-layers 1 --decoder-layers 1 "
       "--width 8 --encoder-heads 1 --decoder-heads 1 --encoder-inner 16 --decoder-inner 16 "
       "--batch 8 --steps 2 --warmup 1 --pairs {} --out " +
           out,
       "evaluate " + path("translator.weft") + " --pairs {}"});
  add("lines.txt", Kind::text, {"translate " + path("translator.weft") + " --input {}"});
  const std::string vit =
      "train vit --image-height 4 --image-width 4 --layers 1 --heads 1 --width 8 "
      "--inner 16 --padding 0 --batch 2 --steps 1 --warmup 0 --out " +
      out;
  add("table.csv", Kind::text, {vit + " --data {}"});
  add("digits/digits.tra", Kind::text, {vit + " --data " + digits});
  add("mnist/train-images-idx3-ubyte", Kind::binary, {vit + " --data " + path("mnist")});
  add("mnist/train-labels-idx1-ubyte", Kind::binary, {vit + " --data " + path("mnist")});
  for (const char* image : {"a.png", "a.bmp", "a.jpg"})
    add(image, Kind::image, {"classify " + path("vit.weft") + " {}"});
  const std::string whisper = path("whisper-default"), wav = path("a.wav");
  for (const char* recording : {"a.wav", "float.wav", "a.flac"})
    add(recording, Kind::binary, {"transcribe " + whisper + " {}"});
  for (const char* name : {"/config.json", "/generation_config.json", "/model.safetensors"})
    add("whisper-default" + std::string(name),
        std::string(name).ends_with(".json") ? Kind::json : Kind::safetensors,
        {"transcribe " + whisper + " " + wav});
}

std::string Workspace::read(const std::string& name) const {
  std::ifstream in(folder_ / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void Workspace::write(const std::string& name, const std::string& bytes) const {
  fs::create_directories((folder_ / name).parent_path());
  std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Arguments Workspace::substitute_path(const Arguments& arguments, const std::string& path) {
  Arguments result = arguments;
  for (std::string& a : result) {
    if (a == "{}") a = path;
  }
  return result;
}

std::vector<std::string> Workspace::temporaries() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".tmp-") != std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace weft::attack
