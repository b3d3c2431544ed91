// Checks with names: check("name", work) runs them one after the other; report() ends the program.
let failed = 0;

// Runs `work`, prints its result, and calls `on_failure`, if given, with the number of the failure.
export async function check(name, work, onFailure) {
  try {
    await work();
    console.log("ok      " + name);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}: ${error.stack}`);
    await onFailure?.(failed);
  }
}

export function report(name) {
  console.log(failed === 0 ? `${name}: no failures` : `${name}: ${failed} failures`);
  process.exit(failed === 0 ? 0 : 1);
}
