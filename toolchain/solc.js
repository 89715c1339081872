#!/usr/bin/env node
// Command line of the pinned `solc` npm package (soljson), for machines without a native compiler:
// as much of `solc` as py-solc-x, slither and forge call, i.e. --version and --standard-json.
'use strict';

const fs = require('fs');
const path = require('path');

// Called through a symlink in .venv, so the package is found from this file's own place.
const solc = require(path.join(fs.realpathSync(__dirname), '..', 'node_modules', 'solc'));

function valuesOf(name) {
  return process.argv.flatMap((argument, i) => (argument === name ? [process.argv[i + 1]] : []));
}

function importFrom(roots) {
  return (name) => {
    const file = roots.map((root) => path.resolve(root, name)).find((candidate) => fs.existsSync(candidate));
    return file ? { contents: fs.readFileSync(file, 'utf8') } : { error: `File not found: ${name}` };
  };
}

if (process.argv.includes('--version')) {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`);
} else if (process.argv.includes('--standard-json')) {
  const [basePath = process.cwd()] = valuesOf('--base-path');
  const [file] = valuesOf('--standard-json').filter((argument) => argument && !argument.startsWith('-'));
  const roots = [basePath, ...valuesOf('--include-path')];
  process.stdout.write(solc.compile(fs.readFileSync(file || 0, 'utf8'), { import: importFrom(roots) }));
} else {
  console.error('solc.js: only --version and --standard-json are supported');
  process.exitCode = 1;
}
