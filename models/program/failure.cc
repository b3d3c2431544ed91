#include "weft/models/program/failure.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "weft/core/excerpt.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"

namespace weft::program {
namespace {

/// Messages hold names from files, which may have any length, and lists of them.
constexpr std::size_t kMaxShown = 4000;

}  // namespace

void Failure::print() const {
  if (kind == Kind::memory) {
    std::fputs(
        "weft: there is not enough memory for this: smaller sizes (--batch, --context, --width, "
        "--beams) and, in training, a --memory-budget take less\n",
        stderr);
    return;
  }
  say_aside("weft: {}\n", excerpt(one_line(message), kMaxShown));
}

Failure current_failure() {
  try {
    throw;
  } catch (const CommandFailed& e) {
    return e.failure();
  } catch (const UsageError& e) {
    return {Failure::Kind::usage, e.what()};
  } catch (const std::bad_alloc&) {
    return {Failure::Kind::memory};
  } catch (const std::length_error&) {
    return {Failure::Kind::memory};  // of a container: more than any machine has
  } catch (const std::exception& e) {
    return {Failure::Kind::run, e.what()};
  }
}

}  // namespace weft::program
