// The program never overwrites inputs, files of another type, or anything that is not a regular
// file. This is tested for every output option of every command.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "command_files.h"
#include "command_walk.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(files)
namespace {

namespace fs = std::filesystem;

/// Returns the folder that all tests share. Each test leaves it unchanged.
const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

struct Writer {
  const WalkedCommand* command;
  const WalkedOption* option;
};

std::vector<Writer> writers(const std::vector<WalkedCommand>& commands) {
  std::vector<Writer> found;
  for (const WalkedCommand& command : commands) {
    for (const WalkedOption& option : command.options) {
      if (option.is(kOutputType)) found.push_back({&command, &option});
    }
  }
  return found;
}

bool is_training(const WalkedCommand& command) { return command.words.front() == "train"; }

/// Returns a command line in which the output option is set to `file` and all other required
/// outputs are set to different files.
std::string writing(const Writer& writer, const std::string& file) {
  std::string arguments =
      files().base(writer.command->name) + " " + writer.option->name + " " + file;
  for (const WalkedOption& other : writer.command->options) {
    const bool needed = other.required || (is_training(*writer.command) && other.name == "--out");
    if (other.is(kOutputType) && needed && other.name != writer.option->name)
      arguments += " " + other.name + " elsewhere" +
                   (writer.command->name == "run" ? ".safetensors" : ".weft");
  }
  return arguments;
}

/// Returns the arguments with the input option set to `file`.
std::string reading(std::string arguments, const WalkedCommand& command, const WalkedOption& input,
                    const std::string& file) {
  const std::string before = (input.positional ? command.name : " " + input.name) + " ";
  const std::size_t at = arguments.find(before);
  if (at == std::string::npos) return arguments + before + file;
  const std::size_t begin = at + before.size(), end = arguments.find(' ', begin);
  return arguments.replace(begin, end - begin, file);
}

/// Returns the file extension for the output option.
std::string ending(const Writer& writer) {
  if (writer.option->name == "--log") return ".jsonl";
  if (writer.option->name == "--report" || writer.option->name == "--trace") return ".json";
  if (writer.command->name == "tokenizer train") return ".json";
  if (writer.command->name == "embed") return ".npy";
  if (writer.command->name == "vectors train") return ".vec";
  return writer.command->name == "run" ? ".safetensors" : ".weft";
}

BOOST_AUTO_TEST_CASE(no_output_replaces_an_input_under_any_name) {
  const std::vector<WalkedCommand> commands = all_commands();
  std::size_t pairs = 0;
  for (const Writer& writer : writers(commands)) {
    for (const WalkedOption& input : writer.command->options) {
      if (!input.is(kInputType)) continue;
      // A resumed run may overwrite the file from which it was resumed.
      if (input.name == "--resume" && writer.option->name == "--out") continue;
      const std::string source = CommandFiles::input_of(writer.command->name, input.name);
      const std::string victim = "victim" + fs::path(source).extension().string();
      fs::copy_file(files().path(source), files().path(victim));
      fs::create_symlink(files().path(victim), files().path("link" + ending(writer)));
      fs::create_hard_link(files().path(victim), files().path("hard" + ending(writer)));
      for (const std::string& name :
           {victim, "link" + ending(writer), "hard" + ending(writer), "digits/../" + victim}) {
        files().check_rejected(reading(writing(writer, name), *writer.command, input, victim));
        ++pairs;
      }
      for (const std::string& name : {victim, "link" + ending(writer), "hard" + ending(writer)})
        fs::remove(files().path(name));
    }
  }
  BOOST_TEST(pairs > 80U);
}

BOOST_AUTO_TEST_CASE(errors_name_the_input_and_the_output) {
  const CommandFiles& weft = files();
  weft.check_rejected(weft.base("train gpt") + " --out text.txt",
                      "--out text.txt would replace --text text.txt, which is an input");
  weft.check_rejected(weft.base("train gpt") + " --out m.weft --best text.txt",
                      "--best text.txt would replace --text text.txt");
  weft.check_rejected("train gpt --resume gpt.weft --text text.txt --out text.txt",
                      "--out text.txt would replace --text text.txt");
  weft.check_rejected(weft.base("train encoder") + " --out labelled.tsv", "would replace --data");
  weft.check_rejected(weft.base("train seq2seq") + " --out pairs.tsv", "would replace --pairs");
  weft.check_rejected(weft.base("train vit") + " --out digits/digits.tra",
                      "--out digits/digits.tra is inside --data digits, which is an input");
  weft.check_rejected("quantize gpt.weft --out gpt.weft", "would replace file gpt.weft");
  weft.check_rejected("quantize gpt.weft --text text.txt --out text.txt", "would replace --text");
  weft.check_rejected("merge gpt.weft --adapters tuned.lora.safetensors --out gpt.weft",
                      "would replace file gpt.weft");
  weft.check_rejected(weft.base("run") + " --outputs folder/model.safetensors",
                      "is inside model folder, which is an input");
  weft.check_rejected(weft.base("run") + " --outputs folder/new.safetensors",
                      "is inside model folder");
  weft.check_rejected(weft.base("run") + " --outputs inputs.safetensors", "would replace --inputs");
  weft.check_rejected("train gpt --from gpt.weft --text text.txt --steps 2 --out gpt.weft",
                      "would replace --from gpt.weft");
}

BOOST_AUTO_TEST_CASE(two_outputs_cannot_be_the_same_file) {
  const CommandFiles& weft = files();
  weft.check_rejected(weft.base("train gpt") + " --out new.weft --best new.weft",
                      "are the same file");
  weft.check_rejected(weft.base("train gpt") + " --out new.svg", "its name should not end in .svg");
  weft.check_rejected(weft.base("train gpt") + " --out a.weft --best a.svg",
                      "should not end in .svg");
  fs::create_symlink(weft.path("a.svg"), weft.path("b.weft"));
  weft.check_rejected(weft.base("train gpt") + " --out a.weft --best b.weft", "are the same file");
  fs::remove(weft.path("b.weft"));
  // Models whose names differ only in the extension have separate plots.
  weft.run(weft.base("train gpt") + " --out m.v1");
  const std::string plot = weft.read("m.v1.svg");
  weft.run(with(weft.base("train gpt"), "--steps", "3") + " --out m.v2");
  BOOST_TEST(weft.read("m.v1.svg") == plot);
  BOOST_TEST(weft.read("m.v2.svg") != plot);
  for (const char* name : {"m.v1", "m.v2", "m.v1.svg", "m.v2.svg"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(keep_preserves_the_replaced_checkpoints) {
  const CommandFiles& weft = files();
  fs::create_symlink(weft.path("real.weft"), weft.path("k.weft"));
  const std::string command =
      with(with(weft.base("train gpt"), "--steps", "3"), "--save-every", "1");
  weft.run(command + " --out k.weft --keep 2");
  const auto steps = [&](const std::string& name) {  // according to the history in the file
    const std::string bytes = weft.read(name);
    return contains(bytes, "],[3,") ? 3 : contains(bytes, "],[2,") ? 2 : 1;
  };
  BOOST_TEST(steps("k.weft") == 3);
  BOOST_TEST(fs::is_symlink(weft.path("k.weft")));
  std::vector<int> kept;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(weft.path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("k.") && name != "real.weft") continue;
    names.push_back(name);
    if (name.ends_with(".weft") && name != "k.weft" && name != "real.weft")
      kept.push_back(steps(name));
  }
  std::sort(kept.begin(), kept.end());
  BOOST_TEST((kept == std::vector<int>{1, 2}));
  // A run that was killed while saving can be resumed, although its last checkpoint then has two
  // names.
  fs::remove(weft.path("k.1.weft"));
  fs::create_hard_link(weft.path("real.weft"), weft.path("k.1.weft"));
  weft.run("train gpt --text text.txt --resume k.weft --steps 4 --keep 2");
  BOOST_TEST(steps("k.1.weft") == 3);
  weft.check_rejected("train gpt --text text.txt --from k.1.weft --steps 2 --out k.weft --keep 2",
                      "an earlier checkpoint k.1.weft would replace --from k.1.weft");
  for (const std::string& name : names) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(plots_and_adapters_do_not_replace_user_files) {
  const CommandFiles& weft = files();
  weft.write("own.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><text>mine</text></svg>");
  weft.check_rejected(weft.base("train gpt") + " --out own.weft",
                      "the plot own.svg already exists and is not a plot drawn by weft");
  const std::string text = weft.read("text.txt");
  weft.write("read.svg", text);
  weft.check_rejected(
      "train gpt --text read.svg --out read.weft --steps 2 --layers 1 --heads 2 --width 16 "
      "--context 16 --batch 4",
      "the plot read.svg would replace --text read.svg");
  for (const auto& [command, plots] : std::map<std::string, std::vector<std::string>>{
           {"train encoder", {".svg", ".confusion.svg", ".attention.svg"}},
           {"train seq2seq", {".svg", ".measure.svg", ".attention.svg"}},
           {"train vit", {".svg", ".confusion.svg", ".attention.svg"}},
           {"train vit --task masked-image", {".svg", ".reconstruction.svg"}}}) {
    for (const std::string& plot : plots) {
      weft.write("mine" + plot, "not a plot");
      const bool masked = command.ends_with("masked-image");
      weft.check_rejected(weft.base(masked ? "train vit" : command) +
                              (masked ? " --task masked-image" : "") + " --out mine.weft",
                          "mine" + plot + " already exists");
      fs::remove(weft.path("mine" + plot));
    }
  }
  weft.write("a.lora.safetensors", "not adapters");
  weft.check_rejected(
      "train gpt --from gpt.weft --lora-rank 2 --steps 2 --text text.txt --out a.weft",
      "the adapters a.lora.safetensors already exists");
  for (const char* name : {"own.svg", "read.svg", "a.lora.safetensors"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(files_of_another_type_are_replaced_only_with_force) {
  const CommandFiles& weft = files();
  const std::vector<WalkedCommand> commands = all_commands();
  for (const Writer& writer : writers(commands)) {
    const bool run = writer.command->name == "run";
    const std::vector<std::string> others = {"documents.txt", "other.png",
                                             run ? "gpt.weft" : "folder/config.json",
                                             "tuned.lora.safetensors"};
    for (const std::string& other : others) {
      if (other == "other.png") weft.write(other, "\x89PNG and more");
      weft.check_rejected(writing(writer, other));
    }
  }
  fs::remove(weft.path("other.png"));
  weft.write("old.weft", "something else");
  weft.run("quantize gpt.weft --force --out old.weft");
  BOOST_TEST(weft.read("old.weft") != "something else");
  weft.write("old.weft", "");  // an empty file, as created by mktemp, may be replaced
  weft.run("quantize gpt.weft --out old.weft");
  weft.run("quantize gpt.weft --weights bf16 --out old.weft");  // a file of the same type
  fs::remove(weft.path("old.weft"));
}

BOOST_AUTO_TEST_CASE(file_types_are_not_recognised_by_ambiguous_prefixes) {
  const CommandFiles& weft = files();
  // A brace as the ninth byte is not enough to recognise a safetensors file, and the first word is
  // not enough to recognise a log.
  weft.write("main.c", "int f() {\n  return 0;\n}\n");
  weft.check_rejected(weft.base("run") + " --outputs main.c", "main.c already exists");
  weft.write("clicks.jsonl", "{\"event\":\"click\",\"at\":3}\n");
  weft.check_rejected(weft.base("train gpt") + " --out new.weft --log clicks.jsonl",
                      "clicks.jsonl already exists");
  for (const char* table : {"3 2\n1.0 2.0\n3.0 4.0\n5.0 6.0\n", "2 3\n1 2 3\n4 5 6\n",
                            "2 2\nsome words that people wrote\n", "640 480\n"}) {
    weft.write("table.txt", table);
    weft.check_rejected(weft.base("vectors train") + " --out table.txt",
                        "table.txt already exists");
  }
  for (const char* format : {"", " --binary"}) {
    weft.run(weft.base("vectors train") + " --out w.vec --force" + format);
    weft.run(weft.base("vectors train") + " --out w.vec");
  }
  for (const char* name : {"main.c", "clicks.jsonl", "table.txt", "w.vec"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_trainable_model_is_not_overwritten_by_an_untrainable_one) {
  const CommandFiles& weft = files();
  const std::string wanted = "is a trainable model and would be replaced by one that";
  fs::copy_file(weft.path("tuned.weft"), weft.path("precious.weft"));
  fs::copy_file(weft.path("tuned.weft"), weft.path("new.ema.weft"));
  weft.run("train gpt --from gpt.weft --lora-rank 2 --steps 2 --text text.txt --out t.weft");
  weft.run("quantize gpt.weft --out q.weft");
  weft.run("train gpt --from q.weft --lora-rank 2 --steps 2 --text text.txt --out t.weft");
  weft.check_rejected("quantize gpt.weft --out precious.weft", wanted);
  weft.check_rejected("convert folder --out precious.weft", wanted);
  weft.check_rejected("convert gpt.weft --inference --out precious.weft", wanted);
  weft.check_rejected("merge q.weft --adapters t.lora.safetensors --out precious.weft", wanted);
  weft.check_rejected(weft.base("train gpt") + " --ema 0.9 --out new.weft",
                      "the averages new.ema.weft " + wanted);
  weft.run("merge gpt.weft --adapters tuned.lora.safetensors --out precious.weft");
  for (const char* name :
       {"precious.weft", "new.ema.weft", "t.weft", "t.svg", "t.lora.safetensors", "q.weft"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(all_files_of_a_token_set_are_checked) {
  const CommandFiles& weft = files();
  weft.run("tokenizer train text.txt --vocab 300 --out tok.json");
  const std::string tokenize = "data tokenize --tokenizer tok.json --out set ";
  weft.write("set-00002.tok", "what somebody wrote\n");
  weft.check_rejected(tokenize + "text.txt", "set-00002.tok already exists and is not");
  weft.check_rejected(tokenize + "--format text set-00002.tok",
                      "would replace files set-00002.tok");
  fs::remove(weft.path("set-00002.tok"));
  fs::create_directory(weft.path("set-00001.tok"));
  weft.check_rejected(tokenize + "text.txt", "it is a folder");
  fs::remove(weft.path("set-00001.tok"));
  weft.run(tokenize + "--documents line --shard-size 16 text.txt");
  BOOST_TEST(fs::exists(weft.path("set-00005.tok")));
  weft.run(tokenize + "text.txt");  // files of a previous set may be replaced
  for (const char* name : {"set-00000.tok", "tok.json"}) fs::remove(weft.path(name));
  BOOST_TEST(!fs::exists(weft.path("set-00001.tok")));
}

BOOST_AUTO_TEST_CASE(unwritable_outputs_are_rejected_before_any_work) {
  const CommandFiles& weft = files();
  const std::vector<WalkedCommand> commands = all_commands();
  BOOST_REQUIRE(mkfifo(weft.path("pipe").c_str(), 0666) == 0);
  fs::create_symlink(weft.path("pipe"), weft.path("to_pipe"));
  fs::create_symlink("nowhere/there", weft.path("dangling"));
  fs::create_symlink("loop", weft.path("loop"));
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", weft.path("socket").c_str());
  BOOST_REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  std::vector<std::string> places = {"pipe",     "to_pipe", "socket", "digits", ".",
                                     "dangling", "loop",    "/",      "",       "text.txt/under"};
  // Create a new device node, so that the test cannot damage a device of the machine.
  if (mknod(weft.path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0)
    places.emplace_back("null");
  fs::create_directory(weft.path("sealed"));
  fs::permissions(weft.path("sealed"), fs::perms::owner_read | fs::perms::owner_exec);
  for (const Writer& writer : writers(commands)) {
    for (const std::string& place : places)
      weft.check_rejected(writing(writer, place.empty() ? "''" : place));
    weft.check_rejected(writing(writer, std::string(305, 'n') + ending(writer)));
    weft.check_rejected(writing(writer, "missing/folder/m" + ending(writer)));
    if (geteuid() != 0) weft.check_rejected(writing(writer, "sealed/m" + ending(writer)));
    // A write-protected file is not replaced, even if it has the right type.
    const std::string kept = "kept" + ending(writer);
    fs::copy_file(weft.path(writer.command->name == "run" ? "inputs.safetensors" : "gpt.weft"),
                  weft.path(kept));
    fs::permissions(weft.path(kept), fs::perms::owner_read);
    weft.check_rejected(writing(writer, kept), "it is write-protected");
    fs::remove(weft.path(kept));
  }
  close(listener);
  for (const char* name : {"pipe", "to_pipe", "dangling", "loop", "socket", "null", "sealed"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(a_replaced_file_keeps_its_mode) {
  const CommandFiles& weft = files();
  weft.run("quantize gpt.weft --out q.weft");
  fs::permissions(weft.path("q.weft"), fs::perms::owner_read | fs::perms::owner_write);
  weft.run("quantize gpt.weft --weights bf16 --out q.weft");
  BOOST_TEST((fs::status(weft.path("q.weft")).permissions() ==
              (fs::perms::owner_read | fs::perms::owner_write)));
  weft.run(weft.base("train gpt") + " --stop-after 1 --out own.weft");
  for (const char* name : {"own.weft", "own.svg"})
    fs::permissions(weft.path(name), fs::perms::owner_read | fs::perms::owner_write);
  weft.run("train gpt --text text.txt --resume own.weft");
  for (const char* name : {"own.weft", "own.svg"}) {
    BOOST_TEST((fs::status(weft.path(name)).permissions() ==
                (fs::perms::owner_read | fs::perms::owner_write)));
    fs::remove(weft.path(name));
  }
  fs::remove(weft.path("q.weft"));
}

BOOST_AUTO_TEST_CASE(a_resumed_run_requires_the_same_data) {
  const CommandFiles& weft = files();
  weft.run(weft.base("train gpt") + " --stop-after 1 --out run.weft");
  weft.write("copy.txt", weft.read("text.txt"));
  weft.write("other.txt", weft.read("text.txt") + weft.read("text.txt"));
  weft.check_rejected("train gpt --resume run.weft --text other.txt",
                      "the run in run.weft was trained on different data");
  weft.run("train gpt --resume run.weft --text copy.txt");
  for (const char* name : {"run.weft", "run.svg", "copy.txt", "other.txt"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(empty_option_values_are_rejected) {
  const CommandFiles& weft = files();
  for (const char* option : {"--resume", "--from", "--text", "--best", "--preset"}) {
    weft.check_rejected(with(weft.base("train gpt") + " --out gpt.weft", option, "''"),
                        std::string(option) + " is empty");
    weft.check_rejected(weft.base("train gpt") + " --out gpt.weft " + option + "=",
                        std::string(option) + "= is empty");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
