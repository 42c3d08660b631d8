// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements crabctl's main(): it parses the options before the verb,
 * finds the verb and passes it the rest.
 */
#include "crabctl.h"
#include "partial.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct verb {
	const char *name;
	int (*run)(struct target *target, int argc, char **argv);
};

static const struct verb verbs[] = {
	{ "info", verb_info },
	{ "list", verb_list },
	{ "format", verb_format },
	{ "get", verb_get },
	{ "put", verb_put },
	{ "swap", verb_swap },
	{ "add", verb_add },
	{ "del", verb_del },
	{ "set", verb_set },
	{ "cat", verb_cat },
	{ "rm", verb_rm },
	{ "ls", verb_ls },
	{ "scan", verb_scan },
	{ "load", verb_load },
	{ "commit", verb_commit },
	{ "dump", verb_dump },
	{ "snapshot", verb_snapshot },
	{ "restore", verb_restore },
	{ "diff", verb_diff },
	{ "watch", verb_watch },
	{ "check", verb_check },
	{ "doctor", verb_doctor },
	{ "fsck", verb_fsck },
	{ "tree", verb_tree },
	{ "metrics", verb_metrics },
	{ "events", verb_events },
	{ "top", verb_top },
	{ "region", verb_region },
	{ NULL, NULL },
};

const char *argp_program_version = "crabctl " CRABTREE_VERSION;

/* A verb takes one line of at most 79 columns: argp wraps longer ones, and completion reads lines */
static const char doc[] =
	"Look at, fill and check crabtree stores.\v"
	"Verbs:\n"
	"  info                 properties and counters of the store\n"
	"  list                 all devices\n"
	"  format               make an empty store\n"
	"  get KEY|NAME         print the value of a key, or of a name\n"
	"  put KEY VALUE        store a value under a key\n"
	"  swap KEY OLD NEW     replace the value of a key if it is OLD\n"
	"  add KEY N            add to the value of a key\n"
	"  del KEY [TO]         remove a key, or all keys up to TO\n"
	"  set KEY|NAME TEXT    store a value of any length, of blobs or of names\n"
	"  cat KEY|NAME         write the bytes of such a value\n"
	"  rm KEY|NAME          remove a key of a store of blobs, or a name\n"
	"  ls [PREFIX]          list the keys of a store of blobs, or the names\n"
	"  scan                 print records in the order of their keys\n"
	"  load FILE|-          store the records of a file\n"
	"  commit FILE|-        do all operations of a file, or none\n"
	"  dump [FILE]          write all records, as load reads them\n"
	"  snapshot FILE|-      write all records of one point in time, with checksums\n"
	"  restore FILE|-       make a store of a snapshot\n"
	"  diff OLD NEW         print the records in which stores or snapshots differ\n"
	"  watch [FROM [TO]]    print each change of a range of keys\n"
	"  check                verify every invariant of the store\n"
	"  doctor               is there a store, did it survive, what to do next\n"
	"  fsck NEW             copy the records of a damaged image into a new one\n"
	"  tree                 nodes and fill of the tree in an image\n"
	"  metrics              all devices in Prometheus' text format\n"
	"  events               a line for each change of a state\n"
	"  top                  operations per second, lines and fences of a write\n"
	"  region               add, remove and list regions; those of /etc/crabtree.d\n"
	"\n"
	"`crabctl VERB --help' shows the options of a verb; see also crabctl(1).\n"
	"Exit codes: 0 done, 1 not found, other value or errors found, 2 usage, 3 failed.";

struct args {
	struct target target;
	const struct verb *verb;
	int argc;
	char **argv;
};

static const struct verb *verb_find(struct argp_state *state, const char *name)
{
	const struct verb *verb;

	for (verb = verbs; verb->name; verb++) {
		if (!strcmp(verb->name, name))
			return verb;
	}
	arg_error(state, "no such verb: %s", name);
	return NULL;
}

/* The verb parses all arguments after it */
static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->target;
		return 0;
	case ARGP_KEY_ARG:
		args->verb = verb_find(state, arg);
		args->argc = state->argc - state->next + 1;
		args->argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		arg_error(state, "which verb?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse_opt,
	.args_doc = "VERB [ARGUMENT...]",
	.doc = doc,
	.children = target_child,
};

/* getopt would report -1 as an unknown option; report the actual error */
static bool is_negative(const char *arg)
{
	if (*arg++ != '-' || !isdigit((unsigned char)*arg))
		return false;
	while (isalnum((unsigned char)*arg))
		arg++;
	return !*arg;
}

/* getopt would print it as it is. A value after = or -d may have any characters */
static bool is_unprintable(const char *arg)
{
	if (arg[0] != '-' || arg[1] == 'd')
		return false;
	while (*arg && *arg != '=' && !is_control(*arg) && !(*arg & 0x80))
		arg++;
	return *arg && *arg != '=';
}

static bool refuse_words(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (is_negative(argv[i]))
			message("%s: a negative number; keys and values are 0 to 2^64-1 (for a value of i64 "
				"or f64, or for N of add, put -- before the name or the key)", argv[i]);
		else if (is_unprintable(argv[i]))
			message("%s: not an option", argv[i]);
		else
			continue;
		return true;
	}
	return false;
}

/*
 * On a full disk, the differences or errors that were found are not all of them. Also after --help,
 * which ends the program.
 */
static void close_stdout(int code, void *arg)
{
	(void)arg;
	if (!fflush(stdout) && !ferror(stdout))
		return;
	perror("crabctl: standard output");
	_exit(code == EXIT_USAGE ? code : EXIT_FAILED);
}

/*
 * The file of a store must not get one of the descriptors 0 to 2: what is printed would overwrite
 * it. A closed one is opened in the wrong direction, so that its use remains an error.
 */
static bool keep_standard(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return false;
	return true;
}

/*
 * A mapping has no other error for a page that the file does not have any more, or that the disk cannot
 * read or has no room for. A signal of another cause ends the program as always.
 */
static void bus_error(int number, siginfo_t *info, void *context)
{
	static const char text[] =
		"crabctl: the image cannot be used: its file was cut off, or its disk is full or failed\n";
	ssize_t written;

	(void)context;
	if (info->si_code != BUS_ADRERR && info->si_code != BUS_MCEERR_AR) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	partial_remove();
	written = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	_exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
	const struct sigaction bus = { .sa_sigaction = bus_error, .sa_flags = SA_SIGINFO };
	const char *device = getenv("CRABTREE_DEVICE");
	struct args args = { .target.device = "/dev/crab0" };
	char name[32];

	if (!keep_standard() || on_exit(close_stdout, NULL))
		return EXIT_FAILED;
	signal(SIGXFSZ, SIG_IGN);	/* a write above the limit is an error, as on a full disk */
	sigaction(SIGBUS, &bus, NULL);
	argp_err_exit_status = EXIT_USAGE;
	if (device && *device)
		target_name(&args.target, device);
	if (refuse_words(argc, argv))
		return EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
	snprintf(name, sizeof(name), "crabctl %s", args.verb->name);
	args.argv[0] = name;
	return target_end(&args.target, args.verb->run(&args.target, args.argc, args.argv));
}
