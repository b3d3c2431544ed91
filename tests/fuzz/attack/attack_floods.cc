#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <functional>

#include "attacks.h"
#include "deflate.h"
#include "mutate.h"

namespace weft::attack {
namespace {

constexpr double kShortFlood = 30;  // in seconds; shorter runs do not include long lines and pipes

constexpr std::size_t kBlock = std::size_t{1} << 20;

std::string repeated(const std::string& part, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += part;
  return all;
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

/// Returns a PNG with one pixel and image data that decompresses to `mebibytes` MiB.
std::string png_bomb(std::size_t mebibytes) {
  // After a full flush, the compressed block can be repeated.
  const std::string block = deflated(std::string(kBlock, '\0'), MAX_WBITS, Z_FULL_FLUSH);
  const std::string data = block.substr(0, 2) + repeated(block.substr(2), mebibytes);
  const auto chunk = [](const std::string& type, const std::string& data) {
    return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + "crc!";
  };
  return repaired_png(
      std::string("\x89PNG\r\n\x1a\n", 8) +
      chunk("IHDR", big_endian(1) + big_endian(1) + std::string("\x08\0\0\0\0", 5)) +
      chunk("IDAT", data) + chunk("IEND", ""));
}

/// Returns a gzip file that decompresses to an IDX header for one image of one pixel, followed by
/// `mebibytes` MiB of zeros.
std::string idx_bomb(std::size_t mebibytes) {
  // A gzip file may consist of several members.
  const int gzip = 16 + MAX_WBITS;
  return deflated(std::string("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1", 16), gzip) +
         repeated(deflated(std::string(kBlock, '\0'), gzip), mebibytes);
}

/// Starts a process that writes to `fifo` as long as the pipe has a reader. Returns the process ID.
pid_t endless_writer(const std::string& fifo) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int fd = ::open(fifo.c_str(), O_WRONLY);
  const std::string line(65536, 'a');
  while (fd >= 0 && ::write(fd, line.data(), line.size()) > 0) {
  }
  ::_exit(0);
}

}  // namespace

void attack_with_floods(const Workspace& w, const Budget& budget, Report& report) {
  const Clock clock(budget.seconds);
  const bool whole = budget.seconds > kShortFlood;
  const auto judge = [&](const std::string& what, const Arguments& arguments, bool refused) {
    if (clock.over()) return;
    const Outcome outcome = w.program()(arguments, {.time_limit = std::chrono::seconds(90)});
    report.count_run();
    const std::string wrong = find_violation(outcome);
    if (!wrong.empty()) report.add_finding(what + ": " + wrong, arguments, outcome);
    if (wrong.empty() && refused && outcome.code == 0)
      report.add_finding(what + ": accepted as input", arguments, outcome);
  };
  w.write("digits-bomb/train-images-idx3-ubyte.gz", idx_bomb(3000));
  w.write("digits-bomb/train-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\1\0", 9));
  judge("an IDX file that decompresses to 3 GB",
        {"train", "vit", "--data", w.path("digits-bomb"), "--out", w.path("o.weft")}, true);
  w.write("bomb.png", png_bomb(3000));
  judge("a PNG of one pixel that decompresses to 3 GB",
        {"classify", w.path("vit.weft"), w.path("bomb.png")}, true);
  const std::string config = w.read("gpt2-default/config.json");
  const std::string deep = "{\"a\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  w.write("gpt2-default/config.json", deep);
  judge("a config with 200,000 levels of nesting",
        {"generate", w.path("gpt2-default"), "--prompt-ids", "1", "--ids"}, true);
  w.write("gpt2-default/config.json", config);
  w.write("deep.json", deep);
  // Passes inputs that are endless, or that are not regular files, to every command that reads a
  // file.
  w.write("sparse", "x");
  std::filesystem::resize_file(w.path("sparse"), std::uintmax_t{1} << 40);
  std::vector<std::string> inputs = {"/dev/zero",           "/dev/urandom",   "/dev/null",
                                     w.path("disk-folder"), w.path("sparse"), w.path("nothing"),
                                     w.path("deep.json")};
  std::filesystem::create_directories(w.path("disk-folder"));
  for (const Reader& reader : w.readers()) {
    const Arguments arguments = reader.arguments;
    if (Workspace::substitute_path(arguments, "x") == arguments) continue;
    for (const std::string& input : inputs) {
      // Every sequence of bytes is valid text.
      const bool refused = reader.kind != Kind::text || input != w.path("deep.json");
      judge(input, Workspace::substitute_path(arguments, input), refused);
    }
  }
  if (!whole) return;
  w.write("long.txt", std::string(std::size_t{52} << 20, 'a'));
  std::string blanks(std::size_t{52} << 20, 'a');
  for (std::size_t i = 0; i < blanks.size(); i += 6) blanks[i] = ' ';
  w.write("words.txt", blanks);
  for (const char* name : {"long.txt", "words.txt"}) {
    judge(fmt::format("one line of 52 MB ({})", name),
          {"train",     "encoder", "--task",  "mlm",        "--layers", "1",
           "--heads",   "1",       "--width", "8",          "--inner",  "16",
           "--context", "16",      "--vocab", "9",          "--batch",  "2",
           "--steps",   "1",       "--text",  w.path(name), "--out",    w.path("o.weft")},
          false);
  }
  const std::string fifo = w.path("fifo");
  ::mkfifo(fifo.c_str(), 0600);
  for (const Reader& reader : w.readers()) {
    const Arguments arguments = Workspace::substitute_path(reader.arguments, fifo);
    if (arguments == reader.arguments) continue;
    judge("a pipe without a writer", arguments, true);
    const pid_t writer = endless_writer(fifo);
    judge("an endless pipe", arguments, true);
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
  }
}

}  // namespace weft::attack
