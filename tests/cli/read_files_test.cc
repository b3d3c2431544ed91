// No output replaces a file that the command reads in any way: named on the command line, or read
// through another file. Every file that a command opens is tried as each of its outputs.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>
#include <sstream>

#include "command_files.h"
#include "command_walk.h"
#include "weft/core/world/thread_world.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(read_files)
namespace {

namespace fs = std::filesystem;

/// A complete command line without its output, the output options that it can have, and the file
/// extensions of these outputs.
struct Reader {
  std::string arguments;
  std::vector<std::pair<std::string, std::string>> outputs;  // option and extension
};

/// Writes gpt.weft as the sharded checkpoint sh.weft.
void write_shards(const CommandFiles& weft) {
  ThreadWorld world(2);
  world.run([&](const std::shared_ptr<Transport>& transport) {
    const auto model = load_any_model(weft.path("gpt.weft")).model;
    Session session(*model->graph, model->store,
                    session_options(*model, {.threads = 1, .world = World(transport)}));
    save_model_in_shards(weft.path("sh.weft"), *model, session);
  });
}

/// Returns the folder that all tests share. Each test leaves it unchanged.
const CommandFiles& files() {
  static const CommandFiles& shared = [&]() -> const CommandFiles& {
    static const CommandFiles made;
    write_shards(made);
    made.run("tokenizer train text.txt --vocab 300 --out tok.json");
    made.run(
        "data tokenize text.txt --documents line --shard-size 700 --tokenizer tok.json "
        "--out set");
    fs::create_directory(made.path("corpus"));
    fs::create_symlink("../documents.txt", made.path("corpus/linked.txt"));
    return made;
  }();
  return shared;
}

/// Returns the existing files that the command opens for reading.
std::set<std::string> files_read(const std::string& arguments) {
  const CommandFiles& weft = files();
  std::set<std::string> before;
  for (const auto& entry : fs::recursive_directory_iterator(weft.path())) {
    if (entry.is_regular_file()) before.insert(fs::canonical(entry.path()).string());
  }
  std::set<std::string> read;
#ifdef WEFT_FAULTS
  const std::string trace = weft.path("../reads");
  fs::remove(trace);
  const std::string folder = fs::canonical(weft.path()).string() + "/";
  const Outcome outcome =
      weft(arguments, {.environment = "LD_PRELOAD=" WEFT_FAULTS " WEFT_READS=" + trace +
                                      " WEFT_READS_PATH=" + folder});
  BOOST_TEST_REQUIRE(outcome.code == 0, arguments + ": " + outcome.err);
  std::istringstream lines(read_whole_file(trace));
  for (std::string line; std::getline(lines, line);) {
    if (before.contains(line)) read.insert(line);
  }
#endif
  return read;
}

std::string forced(const std::string& arguments) {
  return arguments.starts_with("convert") || arguments.starts_with("data") ||
                 arguments.starts_with("tokenizer") || arguments.starts_with("embed") ||
                 arguments.starts_with("train") || arguments.starts_with("run") ||
                 arguments.starts_with("quantize") || arguments.starts_with("merge") ||
                 arguments.starts_with("vectors")
             ? arguments + " --force"
             : arguments;
}

void check_no_file_is_replaced(const Reader& reader) {
  const CommandFiles& weft = files();
  // The command succeeds if its outputs are new files.
  const auto [first, ending] = reader.outputs.front();
  std::set<std::string> existing;
  for (const auto& entry : fs::directory_iterator(weft.path()))
    existing.insert(entry.path().filename().string());
  const bool prefix = ending == "-00000.tok";
  const std::set<std::string> read =
      files_read(reader.arguments + " " + first + " fresh" + (prefix ? "" : ending));
  for (const auto& entry : fs::directory_iterator(weft.path())) {
    if (!existing.contains(entry.path().filename().string())) fs::remove_all(entry.path());
  }
#ifdef WEFT_FAULTS
  BOOST_TEST(!read.empty(), reader.arguments);
#endif
  for (const auto& [option, own] : reader.outputs) {
    for (const std::string& file : read) {
      BOOST_TEST_CONTEXT(option << " " << file) {
        const std::string victim = "victim" + own;
        fs::create_hard_link(file, weft.path(victim));
        const bool needs_out = option != first;
        weft.check_rejected(forced(reader.arguments) +
                            (needs_out ? " " + first + " elsewhere.weft" : "") + " " + option +
                            " victim" + (own == "-00000.tok" ? "" : own));
        fs::remove(weft.path(victim));
      }
    }
  }
}

const std::vector<std::pair<std::string, std::string>> kTrainOutputs = {
    {"--out", ".weft"}, {"--best", ".weft"}, {"--log", ".jsonl"}};

BOOST_AUTO_TEST_CASE(no_output_replaces_a_file_that_training_reads) {
  const CommandFiles& weft = files();
  const std::string gpt = " --steps 2 --batch 4 --warmup 1 --threads 2 --eval-every 1";
  for (const std::string& arguments :
       {weft.base("train gpt"), weft.base("train encoder"), weft.base("train seq2seq"),
        weft.base("train vit"), "train gpt --from sh.weft --text text.txt" + gpt,
        "train gpt --data set --layers 1 --heads 2 --width 16 --context 16" + gpt,
        "train gpt --text text.txt --tokenizer tok.json --layers 1 --heads 2 --width 16 --context "
        "16" +
            gpt})
    check_no_file_is_replaced({arguments, kTrainOutputs});
}

BOOST_AUTO_TEST_CASE(no_output_replaces_a_file_that_a_command_reads) {
  const CommandFiles& weft = files();
  check_no_file_is_replaced({weft.base("tokenizer train"), {{"--out", ".json"}}});
  check_no_file_is_replaced({"tokenizer train corpus --vocab 300", {{"--out", ".json"}}});
  check_no_file_is_replaced({weft.base("vectors train"), {{"--out", ".vec"}}});
  check_no_file_is_replaced({weft.base("merge"), {{"--out", ".weft"}}});
  check_no_file_is_replaced({weft.base("embed"), {{"--out", ".npy"}}});
  check_no_file_is_replaced({weft.base("run"), {{"--outputs", ".safetensors"}}});
  check_no_file_is_replaced(
      {"data tokenize corpus --tokenizer tok.json", {{"--out", "-00000.tok"}}});
  for (const char* command :
       {"quantize gpt.weft", "quantize sh.weft", "convert folder", "convert sh.weft",
        "convert sh.weft --inference", "merge sh.weft --adapters tuned.lora.safetensors",
        "quantize gpt.weft --text text.txt"})
    check_no_file_is_replaced({command, {{"--out", ".weft"}}});
}

BOOST_AUTO_TEST_CASE(companion_files_do_not_replace_shards_that_are_read) {
  const CommandFiles& weft = files();
  const std::string shard = weft.path("sh-1-00002-of-00002.weft");
  const std::string from =
      "train gpt --text text.txt --steps 2 --batch 4 --warmup 1 --threads 2 --from sh.weft ";
  for (const auto& [ending, arguments] : std::map<std::string, std::string>{
           {".svg", from},
           {".1.weft", from + "--keep 1 --save-every 1"},
           {".2.weft", "train gpt --text text.txt --resume sh.weft --steps 6 --keep 2"},
           {".ema.weft", from + "--ema 0.9"},
           {".lora.safetensors", from + "--lora-rank 2"}}) {
    fs::create_hard_link(shard, weft.path("net" + ending));
    weft.check_rejected(arguments + " --force --out net.weft", "net" + ending + " would replace ");
    fs::remove(weft.path("net" + ending));
  }
}

BOOST_AUTO_TEST_CASE(a_shard_is_not_replaced_without_force) {
  const CommandFiles& weft = files();
  const std::string shard = "sh-1-00001-of-00002.weft";
  const std::string quantize = "quantize sh.weft --force --out ";
  weft.check_rejected("quantize sh.weft --out " + shard, shard + " already exists and is a shard");
  weft.check_rejected(quantize + shard, "would replace ");
  weft.check_rejected("train gpt --text text.txt --resume sh.weft --steps 5 --out " + shard);
  weft.check_rejected("train gpt --text text.txt --resume sh.weft --steps 5 --force --out " + shard,
                      "would replace ");
  // A shard of another checkpoint.
  weft.check_rejected("quantize gpt.weft --out " + shard, "is a shard of a checkpoint");
  weft.check_rejected(weft.base("train gpt") + " --out new.weft --best " + shard,
                      "is a shard of a checkpoint");
  fs::copy_file(weft.path(shard), weft.path("copy.weft"));
  weft.run("quantize gpt.weft --force --out copy.weft");
  fs::remove(weft.path("copy.weft"));
  fs::copy_file(weft.path("inputs.safetensors"), weft.path("part-00001-of-00003.safetensors"));
  weft.check_rejected(weft.base("run") + " --outputs part-00001-of-00003.safetensors",
                      "is a shard of the weights of a model");
  fs::remove(weft.path("part-00001-of-00003.safetensors"));
}

BOOST_AUTO_TEST_CASE(a_folder_with_files_that_are_read_is_not_replaced) {
  const CommandFiles& weft = files();
  // Models in this layout link to files in another folder.
  fs::create_directory(weft.path("links"));
  for (const auto& entry : fs::directory_iterator(weft.path("folder")))
    fs::create_symlink("../folder/" + entry.path().filename().string(),
                       weft.path("links/" + entry.path().filename().string()));
  weft.check_rejected("convert links --force --out folder/", "would replace the folder");
  weft.check_rejected(
      "run links --force --inputs inputs.safetensors --outputs "
      "folder/model.safetensors",
      "folder/model.safetensors would replace ");
  fs::remove_all(weft.path("links"));
}

BOOST_AUTO_TEST_CASE(an_input_that_is_named_like_a_temporary_file_is_kept) {
  const CommandFiles& weft = files();
  fs::copy_file(weft.path("gpt.weft"), weft.path("new.weft.tmp-12-0"));
  weft.check_rejected("quantize new.weft.tmp-12-0 --out new.weft",
                      "would remove its temporary file file new.weft.tmp-12-0");
  fs::remove(weft.path("new.weft.tmp-12-0"));
}

BOOST_AUTO_TEST_CASE(two_runs_do_not_share_their_files) {
  const CommandFiles& weft = files();
  const std::string tiny = weft.base("train gpt") + " --save-every 0 --eval-every 0";
  const std::string start = "cd " + weft.path() + " && " + WEFT_PROGRAM + " " +
                            with(tiny, "--steps", "100000000") +
                            " --out long.weft --best top.weft --log long.jsonl >/dev/null 2>&1 & "
                            "echo $! >" +
                            weft.path("../pid");
  BOOST_TEST_REQUIRE(std::system(start.c_str()) == 0);
  for (int i = 0; i < 400 && !fs::exists(weft.path("long.jsonl")); ++i)
    BOOST_TEST_REQUIRE(std::system("sleep 0.05") == 0);
  BOOST_TEST(fs::exists(weft.path("long.weft.tmp-0-0")));
  const std::string busy = "is being written by another training run (weft train gpt";
  const auto rejected = [&](const std::string& arguments, const std::string& what) {
    const Outcome outcome = weft(arguments);
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(contains(outcome.err, what + " " + busy), outcome.err);
  };
  rejected(tiny + " --out long.weft", "--out: long.weft");
  rejected(tiny + " --out other.weft --best long.weft", "--best: long.weft");
  rejected(tiny + " --out other.weft --best top.weft", "--best: top.weft");
  rejected(tiny + " --out other.weft --log long.jsonl", "--log: long.jsonl");
  rejected("quantize gpt.weft --out long.weft", "--out: long.weft");
  BOOST_TEST_REQUIRE(std::system(("kill -9 $(cat " + weft.path("../pid") + ")").c_str()) == 0);
  for (int i = 0; i < 200 && weft(tiny + " --out long.weft").code != 0; ++i)
    BOOST_TEST_REQUIRE(std::system("sleep 0.05") == 0);
  BOOST_TEST(fs::exists(weft.path("long.weft")));
  for (const char* name :
       {"long.weft", "long.svg", "long.jsonl", "top.weft.tmp-0-0", "long.jsonl.tmp-0-0"})
    fs::remove(weft.path(name));
  BOOST_TEST(!fs::exists(weft.path("long.weft.tmp-0-0")));
}

BOOST_AUTO_TEST_CASE(two_runs_do_not_mix_their_earlier_checkpoints) {
  const CommandFiles& weft = files();
  const std::string run = with(with(weft.base("train gpt"), "--steps", "4"), "--save-every", "1") +
                          " --seed 7 --out k.weft";
  weft.run(run + " --keep 3");
  const std::string other =
      "--keep 2: k.1.weft is a checkpoint of another run, of which it is step 3";
  weft.check_rejected(with(run, "--seed", "5") + " --keep 2", other);
  weft.check_rejected("train gpt --text text.txt --resume gpt.weft --steps 6 --out k.weft --keep 2",
                      other);
  // The run itself continues its history.
  weft.run("train gpt --text text.txt --resume k.weft --steps 6 --keep 3");
  weft.run("verify k.1.weft k.2.weft k.3.weft");
  // With --force, the checkpoints of the other run are removed.
  weft.run(with(with(run, "--steps", "2"), "--seed", "5") + " --keep 3 --force");
  BOOST_TEST(fs::exists(weft.path("k.1.weft")));
  BOOST_TEST(!fs::exists(weft.path("k.2.weft")));
  BOOST_TEST(!fs::exists(weft.path("k.3.weft")));
  for (const char* name : {"k.weft", "k.1.weft", "k.svg"}) fs::remove(weft.path(name));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
