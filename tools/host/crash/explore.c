// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the explorer: the order in which states and operations are explored.
 *
 * Invariant: node[0 .. explored) are explored.
 *
 * Locking: one thread.
 */
#include "commits.h"
#include "blobs.h"
#include "explore_priv.h"
#include "reproducer.h"
#include "test.h"

#define EXPLORE_NODES	4096		/* stores pending at once */
#define EXPLORE_POINTS	1024		/* crash points of one run */

/* The operations that a batch, or a life, consists of */
static const struct explore_op batch_verbs[] = {
	{ .verb = EXPLORE_PUT, .value = 0 },
	{ .verb = EXPLORE_PUT, .value = 1 },
	{ .verb = EXPLORE_PUT_SPECIAL },
	{ .verb = EXPLORE_SWAP, .value = 1 },
	{ .verb = EXPLORE_DELETE },
};

/* The operations of x->run, on the state @base, or the image that a reproducer names */
static int op_explore(struct explore *x, const struct crab_shadow_image *base)
{
	int err;

	x->point = 0;
	if (x->replayed) {
		crab_shadow_restore(x->shadow, base);
		crab_shadow_crash(x->shadow);
		x->shadow->script = &x->script[0];
		return explore_run_once(x->shadow, x);
	}
	err = crab_shadow_explore(x->shadow, base, explore_run_once, x, EXPLORE_BUDGET);
	if (err == -E2BIG)
		explore_say(x, "more than %u images", EXPLORE_BUDGET);
	if (err)
		reproducer_say(x, &x->node[x->at].state);
	return err;
}

static int op_alone(struct explore *x, const struct crab_shadow_image *base,
		   const struct explore_op *op)
{
	x->run[0] = *op;
	x->run_n = 1;
	return op_explore(x, base);
}

/* Puts of a key: each value, and the special ones */
static int explore_puts(struct explore *x, const struct crab_shadow_image *base, u32 key,
			bool prepared)
{
	struct explore_op op = { .verb = EXPLORE_PUT, .key = key, .prepared = prepared };
	int err = 0;

	for (; op.value < STATE_VALUES && !err; op.value++)
		err = op_alone(x, base, &op);
	op.verb = prepared ? EXPLORE_PUT_SPARE : EXPLORE_PUT_SPECIAL;
	op.value = 0;
	if (!err && x->space->specials)
		err = op_alone(x, base, &op);
	return err;
}

/* Compare-and-swaps of a key, of which at most one succeeds, and adds */
static int explore_modifies(struct explore *x, const struct crab_shadow_image *base, u32 key)
{
	struct explore_op op = { .verb = EXPLORE_SWAP, .key = key };
	int err = 0;

	for (; op.value < STATE_VALUES && !err; op.value++) {
		op.verb = EXPLORE_SWAP;
		err = op_alone(x, base, &op);
		op.verb = EXPLORE_ADD;
		err = err ?: op_alone(x, base, &op);
	}
	if (!err && x->space->specials)
		err = op_alone(x, base, &op);	/* to the special value */
	return err;
}

static int explore_ranges(struct explore *x, const struct crab_shadow_image *base, u32 key)
{
	struct explore_op op = { .verb = EXPLORE_DELETE_RANGE, .key = key, .value = key };
	int err = 0;

	for (; op.value < x->space->keys && !err; op.value++)
		err = op_alone(x, base, &op);
	return err;
}

static int explore_records(struct explore *x, const struct crab_shadow_image *base)
{
	u32 key;
	int err = 0;

	for (key = 0; key < x->space->keys && !err; key++) {
		err = x->space->modify ? explore_modifies(x, base, key) : 0;
		err = err ?: explore_puts(x, base, key, false) ?:
		      op_alone(x, base, &(struct explore_op) {
			.verb = EXPLORE_DELETE, .key = key });
		if (!err && x->space->ranges)
			err = explore_ranges(x, base, key);
		if (!err && x->space->prepare)
			err = explore_puts(x, base, key, true);
		if (!err && x->space->sparse)
			err = op_alone(x, base, &(struct explore_op) {
				.verb = EXPLORE_THIN, .key = key });
	}
	return err;
}

/* Every commit; the first one on every condition, too */
static int explore_commits(struct explore *x, const struct crab_shadow_image *base)
{
	u32 lists = commits_lists(x->space), conditions = commits_conditions(x->space);
	struct explore_op op = { .verb = EXPLORE_COMMIT };
	int err = 0;

	for (; op.key < lists && !err; op.key++)
		for (op.value = 0; op.value < (op.key ? 1 : conditions) && !err; op.value++)
			err = op_alone(x, base, &op);
	return err;
}

/*
 * A list that a commit left: the attach before an operation leaves a state without it, which is
 * explored by itself. Writes of single keys could depend on the end of that attach, so they are
 * explored here as well
 */
static bool has_list(const struct explore *x)
{
	const struct state *state = &x->node[x->at].state;

	return x->space->commits && state->byte[state->len - 1] != COMMITS_NONE;
}

/* Every operation on the state @base */
static int explore_ops(struct explore *x, const struct crab_shadow_image *base)
{
	static const struct explore_op format = { .verb = EXPLORE_FORMAT };
	int err = op_alone(x, base, &(struct explore_op) { .verb = EXPLORE_ATTACH });

	if (!err && (x->space->format || x->is_blank))
		err = op_alone(x, base, &format);
	if (err || x->is_blank)
		return err;
	if (has_list(x))
		return explore_records(x, base);
	err = op_alone(x, base, &(struct explore_op) { .verb = EXPLORE_DETACH });
	if (!err && x->space->prepare)
		err = op_alone(x, base, &(struct explore_op) { .verb = EXPLORE_PREPARE });
	err = err ?: explore_records(x, base);
	return err || !x->space->commits ? err : explore_commits(x, base);
}

/* Writes a state. It must read the same: that is the meaning of canonical. */
static struct crab_shadow_image *node_write(struct explore *x, const struct state *state)
{
	enum crab_shadow_fault fault = x->shadow->fault;
	struct state again;

	crab_shadow_restore(x->shadow, x->pristine);
	x->shadow->fault = CRAB_SHADOW_SOUND;	/* a planted fault is not for this */
	state_write(state, x->space, &x->geo, &x->media, &x->super);
	x->shadow->fault = fault;
	if (explore_image(x, &again, &x->content))
		return NULL;
	if (again.len != state->len || memcmp(again.byte, state->byte, again.len)) {
		explore_say(x, "a state that was written does not read the same");
		return NULL;
	}
	x->is_blank = state->len == CRAB_SUPER_COPIES;
	return crab_shadow_capture(x->shadow);
}

static int explore_node(struct explore *x)
{
	const struct state state = x->node[x->at].state;
	struct crab_shadow_image *base = node_write(x, &state);
	int err = base ? explore_ops(x, base) : -1;

	crab_shadow_release(base);
	return err;
}

/* An attach changes no state that an attach left */
static void explore_settled(struct explore *x)
{
	u32 i;

	for (i = 0; i < x->explored; i++) {
		x->counts.stable += x->node[i].settled;
		if (x->node[i].settled && x->node[i].changed)
			explore_say(x, "an attach changes state %u, which an attach left", i);
	}
}

static int batch_extend(struct explore *x, const struct crab_shadow_image *base);

/* Performs the batch, or the life, and those that begin with it */
static int batch_try(struct explore *x, const struct crab_shadow_image *base)
{
	int err = x->run_n > 1 ? op_explore(x, base) : 0;

	if (!err && x->run_n < max(x->space->batch, x->space->lives))
		err = batch_extend(x, base);
	return err;
}

/* Appends some commits to the life */
static int life_commits(struct explore *x, const struct crab_shadow_image *base,
			struct explore_op *op)
{
	u32 i;
	int err = 0;

	for (i = 1; i < commits_lists(x->space) && !err; i += 3) {
		*op = (struct explore_op) { .verb = EXPLORE_COMMIT, .key = i };
		err = batch_try(x, base);
	}
	return err;
}

/* Appends each operation to the batch, and so on */
static int batch_extend(struct explore *x, const struct crab_shadow_image *base)
{
	struct explore_op *op = &x->run[x->run_n++];
	u32 key, verb;
	int err = 0;

	for (key = 0; key < x->space->keys; key++) {
		for (verb = 0; verb < ARRAY_SIZE(batch_verbs) && !err; verb++) {
			*op = batch_verbs[verb];
			op->key = key;
			if ((op->verb == EXPLORE_PUT_SPECIAL && !x->space->specials) ||
			    (op->verb == EXPLORE_SWAP && !x->space->modify))
				continue;
			err = batch_try(x, base);
		}
	}
	if (!err && x->space->commits)
		err = life_commits(x, base, op);
	x->run_n--;
	return err;
}

static int node_batches(struct explore *x)
{
	const struct state state = x->node[x->at].state;
	struct crab_shadow_image *base = node_write(x, &state);
	int err;

	x->run_n = 0;
	err = base ? batch_extend(x, base) : -1;
	crab_shadow_release(base);
	x->node[x->at].batched = true;
	return err;
}

/* An attach left it; or the next attach differs, because a detach parked something */
static bool node_begins_lives(const struct explore *x)
{
	const struct explore_node *node = &x->node[x->at];
	const u8 *at = node->state.byte + CRAB_SUPER_COPIES, *end = node->state.byte + node->state.len;

	return node->settled || (x->space->lives && at < end && x->space->driver->root &&
				 x->space->driver->root(x->space, &x->geo, at, end));
}

/* Batches, or operations after one attach; new states that their cuts leave are explored next */
static int explore_batches(struct explore *x)
{
	int err = 0;

	for (x->at = 0; x->at < x->explored && !err; x->at += !err)
		if (node_begins_lives(x) && !x->node[x->at].batched)
			err = node_batches(x);
	return err;
}

static int explore_nodes(struct explore *x)
{
	int err = 0;

	for (x->at = x->explored; x->at < x->nodes && x->at < x->limit && !err; x->at += !err)
		err = explore_node(x);
	x->explored = x->at;
	return err;
}

bool explore_run(struct explore *x)
{
	int err;

	do
		err = explore_nodes(x) ?: x->space->batch || x->space->lives ? explore_batches(x) : 0;
	while (!err && x->explored < x->nodes && x->explored < x->limit);
	x->closed = !err && x->explored == x->nodes;
	explore_settled(x);
	x->counts.states = x->nodes;
	return !x->said[0];
}

static void explore_report(struct crab_oracle *oracle, const char *fmt, va_list args)
{
	struct explore *x = container_of(oracle, struct explore, oracle);

	if (x->said[0])
		return;
	x->counts.violations++;
	vsnprintf(x->said, sizeof(x->said), fmt, args);
}

static void explore_keys(struct explore *x)
{
	u32 i;

	blobs_names_init();
	for (i = 0; i < x->space->keys; i++)
		x->keys[i] = state_key(x->space, i);
	x->oracle = (struct crab_oracle) {
		.keys = x->keys, .n = x->space->keys, .report = explore_report,
	};
}

static void explore_media(struct explore *x)
{
	const struct space *space = x->space;

	x->media = media_create(CRAB_POOL_OFFSET + space->leaves * space->leaf_bytes);
	x->shadow = crab_shadow_create(&x->media, EXPLORE_NODES);
	x->shadow->model = host_driver_model(space->driver, space->layout);
	x->shadow->reads = calloc(x->shadow->words, sizeof(bool));
}

/* The superblock that FORMAT wrote, and the geometry that it describes */
static int explore_super(struct explore *x)
{
	memcpy(&x->super, x->media.base, sizeof(x->super));
	x->geo = (struct crab_geometry) {
		.pool_offset = le64_to_cpu(x->super.pool_offset),
		.leaves = le64_to_cpu(x->super.leaves),
		.leaf_bytes = x->space->leaf_bytes,
		.store_id = le32_to_cpu(x->super.store_id),
		.layout = le16_to_cpu(x->super.layout),
	};
	return x->geo.leaves == x->space->leaves ? 0 :
	       explore_say(x, "%llu leaves", x->geo.leaves);
}

bool explore_begin(struct explore *x, const struct space *space)
{
	struct content content;
	struct state state;
	bool is_new;

	memset(x, 0, sizeof(*x));
	x->space = space;
	x->limit = U32_MAX;
	x->points = crab_crash_points_alloc(EXPLORE_POINTS, true);
	crab_host_log = NULL;	/* the oracle reports its relevant lines */
	crab_tiny_slots = space->slots;
	crab_host_seed(EXPLORE_SEED);
	explore_keys(x);
	explore_media(x);
	if (explore_format(x, false) || explore_super(x))
		return false;
	x->pristine = crab_shadow_capture(x->shadow);
	x->run_n = 1;
	if (explore_image(x, &state, &content))
		return false;
	explore_add(x, &state, &is_new);
	return true;
}

void explore_end(struct explore *x)
{
	crab_crash_points_free(x->points);
	free(x->node);
	free(x->table);
	free(x->shadow->reads);
	crab_shadow_release(x->pristine);
	crab_shadow_destroy(x->shadow);
	media_destroy(&x->media);
	crab_tiny_slots = 0;
}

bool explore_replay(struct explore *x, const char *said)
{
	struct crab_shadow_image *base;
	int err;

	if (!reproducer_parse(said, x, &x->node[0].state))
		return !explore_say(x, "no reproducer: %s", said);
	base = node_write(x, &x->node[0].state);
	err = base ? op_explore(x, base) : -1;
	crab_shadow_release(base);
	x->shadow->script = NULL;
	return !err;
}
