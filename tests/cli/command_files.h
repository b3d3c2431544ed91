// A temporary folder with one input file of every type that the commands of the program read, and a
// digest of the folder.
#pragma once

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "weft/serialization/files/crc32c.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/sanitizers.h"

namespace weft {

/// True if the memory of the program can be limited. Sanitizers need the whole address space.
inline constexpr bool kCanLimitMemory = !testing::kSanitized;

/// Returns the arguments with `option` set to `value`. Replaces the value if the option is already
/// set.
inline std::string with(std::string arguments, const std::string& option,
                        const std::string& value) {
  const std::size_t at = arguments.find(" " + option + " ");
  if (at == std::string::npos) return arguments + " " + option + " " + value;
  const std::size_t begin = at + option.size() + 2, end = arguments.find(' ', begin);
  return arguments.replace(begin, end - begin, value);
}

/// A folder with data and models that is the working directory of the program.
class CommandFiles {
 public:
  CommandFiles() : folder_("commands") {
    std::string text, pairs, labelled, digits, documents;
    for (int i = 0; i < 60; ++i)
      text += "all work and no play makes jack a dull boy " + std::to_string(i % 7) + "\n";
    for (int i = 0; i < 60; ++i) {
      pairs += "the ships " + std::to_string(i) + "\tships the " + std::to_string(i) + "\n";
      labelled += (i % 3 == 0 ? "spam\twin a free prize now call " : "ham\tsee you then ") +
                  std::to_string(i % 9) + "\n";
      documents +=
          "first the ships sail out\nthen they come home " + std::to_string(i % 7) + "\n\n";
      for (int p = 0; p < 16; ++p)
        digits += std::to_string(((p < 8) == (i % 2 == 0) ? 9 : 0) + (i * 7 + p * 5) % 8) + ",";
      digits += std::to_string(i % 2) + "\n";
    }
    write("text.txt", text);
    write("pairs.tsv", pairs);
    write("labelled.tsv", labelled);
    write("documents.txt", documents);
    write("digits/digits.tra", digits);
    write("digits/digits.tes", digits.substr(0, digits.size() / 3));
    run("train gpt --steps 4 --text text.txt --out gpt.weft" + kGpt);
    run("train gpt --steps 4 --lora-rank 2 --threads 2 --batch 4 --from gpt.weft --text text.txt "
        "--out tuned.weft");
    const std::string golden = std::string(WEFT_FIXTURES) + "/goldens/distilbert-seqcls-regression";
    std::filesystem::copy(golden, path("folder"));
    std::filesystem::copy(std::string(WEFT_FIXTURES) + "/onnx/residual.onnx", path("network.onnx"));
    std::filesystem::permissions(path("folder"), std::filesystem::perms::owner_all);
    for (const auto& entry : std::filesystem::directory_iterator(path("folder")))
      std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_write,
                                   std::filesystem::perm_options::add);
    std::filesystem::rename(path("folder/inputs.safetensors"), path("inputs.safetensors"));
    write("folder/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nfilm\n");
  }

  std::string path(const std::string& name = {}) const { return folder_.path("work/" + name); }
  std::string write(const std::string& name, std::string_view bytes) const {
    return folder_.write("work/" + name, bytes);
  }
  std::string read(const std::string& name) const { return read_whole_file(path(name)); }

  /// Returns a complete command line except for "--out FILE", which the caller appends.
  std::string base(const std::string& command) const {
    static const std::string kFixtures = WEFT_FIXTURES;
    static const std::map<std::string, std::string> arguments = {
        {"train gpt", "--steps 2 --text text.txt" + kGpt},
        {"train encoder",
         "--steps 2 --task classify --data labelled.tsv --vocab 60 --layers 1 --heads 2 --width 16 "
         "--inner 32 --context 16 --batch 4 --warmup 1 --threads 2"},
        {"train seq2seq",
         "--steps 2 --pairs pairs.tsv --vocab 60 --encoder-layers 1 --decoder-layers 1 --width 16 "
         "--encoder-heads 2 --decoder-heads 2 --encoder-inner 32 --decoder-inner 32 --batch 128 "
         "--warmup 1 --threads 2"},
        {"train vit",
         "--steps 2 --data digits --image-height 4 --image-width 4 --layers 1 --heads 2 --width 16 "
         "--inner 32 --batch 8 --warmup 1 --shift 0 --rotation 0 --zoom 0 --patch-height 1 "
         "--patch-width 1 --threads 2"},
        {"train speech",
         "--steps 2 --data " + kFixtures +
             "/audio/recordings.tsv --encoder-layers 1 "
             "--decoder-layers 1 --encoder-heads 2 --decoder-heads 2 --width 16 --encoder-inner 32 "
             "--decoder-inner 32 --context 32 --mel-bins 8 --source-context 10 --vocab 270 --batch "
             "4 "
             "--warmup 1 --threads 2"},
        {"train image-text",
         "--steps 2 --data " + kFixtures +
             "/captions/captions.tsv --vision-image-height 4 "
             "--vision-image-width 4 --vision-patch-height 2 --vision-patch-width 2 "
             "--vision-channels 1 "
             "--vision-layers 1 --vision-heads 2 --vision-width 16 --vision-inner 32 --text-layers "
             "1 "
             "--text-heads 2 --text-width 16 --text-inner 32 --text-context 32 --projection 16 "
             "--vocab 60 --batch 4 --warmup 1 --threads 2"},
        {"train swin",
         "--steps 2 --data digits --image-height 4 --image-width 4 --depths 2 --heads 2 --width 8 "
         "--window 2 --batch 8 --warmup 1 --shift 0 --rotation 0 --padding 0 --patch-height 1 "
         "--patch-width 1 --threads 2"},
        {"train network",
         "--steps 2 --data digits --from network.onnx --batch 8 --warmup 1 --shift 0 --rotation 0 "
         "--padding 0 --threads 2"},
        {"tokenizer train", "text.txt --vocab 300"},
        {"vectors train", "--text text.txt --epochs 1 --width 4 --threads 2"},
        {"merge", "gpt.weft --adapters tuned.lora.safetensors"},
        {"quantize", "gpt.weft"},
        {"convert", "folder"},
        {"embed", "folder film"},
        {"run", "folder --inputs inputs.safetensors"},
        {"generate", "gpt.weft --prompt all --tokens 2"},
        {"translate", kFixtures + "/weft_files/translator.weft the"},
        {"chat", "gpt.weft --format alpaca"},
    };
    const auto found = arguments.find(command);
    BOOST_TEST_REQUIRE((found != arguments.end()),
                       command + " writes files: add the arguments for a complete run here");
    return command + " " + found->second;
  }

  /// Returns the name of a valid input file for an option.
  static std::string input_of(const std::string& command, const std::string& option) {
    static const std::map<std::string, std::string> files = {
        {"--text", "text.txt"},
        {"--calibrate", "text.txt"},
        {"--pairs", "pairs.tsv"},
        {"--resume", "gpt.weft"},
        {"--from", "gpt.weft"},
        {"file", "gpt.weft"},
        {"files", "text.txt"},
        {"--tokenizer", "text.txt"},
        {"--adapters", "tuned.lora.safetensors"},
        {"model", "gpt.weft"},
        {"--inputs", "inputs.safetensors"},
        {"--data", "labelled.tsv"},
        {"--train", "labelled.tsv"},
        {"--held-out", "labelled.tsv"},
        {"--chat-format", "text.txt"},
        {"--validation", "labelled.tsv"},
        {"--test", "labelled.tsv"},
        {"--input", "text.txt"},
        {"--similar", "text.txt"},
        {"--wordnet", "text.txt"},
        {"--images", "text.txt"},
        {"--prompts", "text.txt"},
        {"--json-schema", "text.txt"},
    };
    const auto found = files.find(option);
    BOOST_TEST_REQUIRE((found != files.end()),
                       command + " " + option + " reads a file: add an input file for it here");
    return found->second;
  }

  struct RunLimits {
    /// A file to which stdout is redirected; empty: stdout is captured.
    std::string out = {};
    /// Memory limit that simulates a small machine; 0: no limit.
    std::int64_t kilobytes = 0;
    /// Limit on the size of written files, in blocks of 512 bytes; 0: no limit.
    std::int64_t blocks = 0;
    /// Environment variables for the program: "NAME=VALUE ...".
    std::string environment = {};
  };
  /// Runs the program in the folder.
  Outcome operator()(const std::string& arguments) const { return (*this)(arguments, {}); }
  Outcome operator()(const std::string& arguments, const RunLimits& in) const {
    const std::string out = folder_.path("out"), err = folder_.path("err");
    std::ofstream(out).close();
    const std::string limit = kCanLimitMemory && in.kilobytes > 0
                                  ? "ulimit -v " + std::to_string(in.kilobytes) + " && "
                                  : "";
    const std::string small =
        in.blocks > 0 ? "ulimit -f " + std::to_string(in.blocks) + " && " : "";
    const std::string command = "cd " + path() + " && " + limit + small + "exec env " +
                                in.environment + " timeout 100 " + WEFT_PROGRAM + " " + arguments +
                                " >" + (in.out.empty() ? out : in.out) + " 2>" + err +
                                " </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole_file(out),
            read_whole_file(err)};
  }

  void run(const std::string& arguments) const {
    const Outcome outcome = (*this)(arguments);
    BOOST_TEST_REQUIRE(outcome.code == 0, arguments + ": " + outcome.err);
  }

  /// Returns a description of the folder: type, mode, size and checksum of each file.
  std::string digest() const {
    std::map<std::string, std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      struct stat status = {};
      lstat(entry.path().c_str(), &status);
      std::string line = std::to_string(status.st_mode) + " " + std::to_string(status.st_ino);
      if (S_ISREG(status.st_mode)) {
        const std::string bytes = read_whole_file(entry.path().string());
        line += " " + std::to_string(crc32c(bytes.data(), bytes.size()));
      }
      lines[entry.path().string()] = line;
    }
    std::string all;
    for (const auto& [name, line] : lines) all += name + " " + line + "\n";
    return all;
  }

  /// Checks that the command fails with exit code 1 or 2 and one line on stderr that contains
  /// `part`, and that it does not change any file.
  void check_rejected(const std::string& arguments, const std::string& part = {}) const {
    const std::string before = digest();
    const Outcome outcome = (*this)(arguments);
    BOOST_TEST_CONTEXT("weft " << arguments << "\n" << outcome.err) {
      BOOST_TEST((outcome.code == 1 || outcome.code == 2));
      BOOST_TEST(outcome.err.starts_with("weft: "));
      BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
      BOOST_TEST(contains(outcome.err, part));
      BOOST_TEST(digest() == before);
    }
  }

 private:
  inline static const std::string kGpt =
      " --layers 1 --heads 2 --width 16 --context 16 --batch 4 --warmup 1 --threads 2";
  testing::TemporaryFolder folder_;
};

}  // namespace weft
