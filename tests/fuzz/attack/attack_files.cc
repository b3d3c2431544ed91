#include <filesystem>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {
namespace {

/// Writes damaged bytes to the file `to`. If `repaired` is true, checksums are corrected first, so
/// that the damage reaches the code that reads the contents.
void write_damaged(const Workspace& w, const std::string& to, const Reader& reader,
                   const std::string& bytes, bool repaired) {
  if (repaired && reader.kind == Kind::weft) {
    if (repair_container(bytes, w.path(to))) return;
  } else if (repaired && reader.kind == Kind::image && reader.name.ends_with(".png")) {
    return w.write(to, repaired_png(bytes));
  } else if (repaired && reader.kind == Kind::safetensors && bytes.size() > 8) {
    return w.write(to, repaired_safetensors(bytes));
  }
  w.write(to, bytes);
}

constexpr double kShort = 30;  // in seconds; shorter runs do not check the undamaged files

/// Checks that all commands succeed on undamaged files. A command that fails on them cannot reveal
/// any faults.
void check_undamaged_files(const Workspace& w, Report& report) {
  for (const Reader& reader : w.readers()) {
    const Arguments arguments = Workspace::substitute_path(reader.arguments, w.path(reader.name));
    const Outcome outcome = w.program()(arguments);
    report.count_run();
    if (outcome.code != 0) report.add_finding("an undamaged file is rejected", arguments, outcome);
  }
}

}  // namespace

void attack_files(const Workspace& w, const Budget& budget, Report& report) {
  Random random(budget.seed);
  if (budget.seconds > kShort) check_undamaged_files(w, report);
  const Clock clock(budget.seconds);
  while (!clock.over()) {
    const Reader& reader = w.readers()[random_up_to(random, w.readers().size() - 1)];
    const bool text = reader.kind == Kind::json || reader.kind == Kind::text;
    const std::string whole = w.read(reader.name);
    std::string bytes = mutated(whole, text, random);
    // Most bytes of a container are tensor data, so in half of the cases only its first or last 16
    // KiB are damaged.
    if (reader.kind == Kind::weft && random_up_to(random, 1) == 0) {
      const std::size_t structure = std::min<std::size_t>(whole.size(), 16 << 10);
      const bool front = random_up_to(random, 1) == 0;
      const std::size_t begin = front ? 0 : whole.size() - structure;
      bytes = whole.substr(0, begin) +
              mutated(whole.substr(begin, structure), random_up_to(random, 1) == 0, random) +
              whole.substr(begin + structure);
    }
    // A file that a command reads as part of a folder is damaged in place. Any other file is
    // copied, and the copy is damaged.
    const bool alone = Workspace::substitute_path(reader.arguments, "x") != reader.arguments;
    const std::string name =
        alone ? "damaged" + std::filesystem::path(reader.name).extension().string() : reader.name;
    write_damaged(w, name, reader, bytes, random_up_to(random, 1) == 0);
    const Arguments arguments = Workspace::substitute_path(reader.arguments, w.path(name));
    const Outcome outcome = w.program()(arguments, {.address_space = std::uint64_t{8} << 30});
    report.count_run();
    if (const std::string what = find_violation(outcome); !what.empty())
      report.add_finding("damaged " + reader.name + ": " + what, arguments, outcome, w.path(name));
    if (!alone) w.write(reader.name, whole);
  }
}

}  // namespace weft::attack
