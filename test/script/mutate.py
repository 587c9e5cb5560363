#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do the packet scripts notice when the transport is wrong?

Applies small mutations to a copy of lib/transport, one at a time, builds the runner against the
copy, and runs all scripts. A mutation that no script notices is printed as alive, one whose text is
not in the source any more as stale; both end with status 1.

    mutate.py --long [--build DIR] [NAME...]

TEST_MATRIX=long does the same as --long; without either it only says what it would do. DIR is a
build directory of meson (default: build); the rooms below the transport are linked from there.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# name, file, text, replacement. The text must stand in the file exactly once.
MUTATIONS = (
    ('nak-not-once', 'resp.c', 'if (!r->quiet) {\n\t\tr->quiet = true;', 'if (true) {'),
    ('nak-once-for-ever', 'resp.c', '\tr->quiet = false;\n\tif (r->nak', '\tif (r->nak'),
    ('rnr-not-quiet', 'resp.c', '\tr->quiet = true;\t/* N16 */\n', ''),
    ('duplicate-executed', 'resp.c', '\tif (diff < 0)\n\t\treturn RESP_DUPLICATE;\n', ''),
    ('duplicate-unasked-ack', 'resp.c', 'if (job->pkt->ack_req)\n\t\t\tjob->qp', 'if (true)\n\t\t\tjob->qp'),
    ('sequence-not-checked', 'resp_check.h', 'return ok[job->qp->resp.msg][place];', 'return true || ok[0][place];'),
    ('qp-access-not-checked', 'resp_check.h', '(job->qp->attr.access_flags & need) == need', 'true || need'),
    ('depth-not-checked', 'resp.c', '&& !resp_rd_room(job->qp)', '&& false'),
    ('recv-lkey-not-checked', 'resp_check.h', 'resp_has(job, WIRE_SEND) && mem_sgl_check', 'false && mem_sgl_check'),
    ('first-may-be-short', 'resp_check.h', 'return len == mtu;', 'return len <= mtu;'),
    ('last-may-be-empty', 'resp_check.h', 'len <= mtu && (len || resp_has(job, WIRE_FIRST))', 'len <= mtu'),
    ('too-long-accepted', 'resp_check.h', 'if (r->len > MAX_MSG_SZ)', 'if (false)'),
    ('atomic-align-4', 'resp_check.h', '(pkt->atomic.va & 7)', '(pkt->atomic.va & 3)'),
    ('recv-overrun', 'resp_check.h', 'pkt->payload_len > r->wqe_len - r->done', 'false'),
    ('write-length-not-checked', 'resp_check.h', 'if (resp_has(job, WIRE_WRITE) &&\n',
     'if (false &&\n'),
    ('no-comm-est', 'resp_check.h', 'if (qp->state == QPS_RTR && !r->established)', 'if (false)'),
    ('comm-est-always', 'resp_check.h', '&& !r->established', ''),
    ('imm-lost', 'resp_check.h', '.imm = imm ? pkt->imm : 0', '.imm = 0'),
    ('solicited-lost', 'resp_check.h', '.solicited = pkt->se', '.solicited = false'),
    ('read-msn', 'resp.c', '\tr->msn = (r->msn + 1) & PSN_MASK;\n\tresp_rd_accept', '\tresp_rd_accept'),
    ('read-one-psn', 'resp.c', 'return n ? n : 1;', 'return 1;'),
    ('msn-per-packet', 'resp.c', 'if (resp_has(job, WIRE_LAST)) {\n\t\tr->msn', '{\n\t\tr->msn'),
    ('unasked-ack', 'resp.c', 'if (job->pkt->ack_req)\n\t\tr->ack_due', 'if (true)\n\t\tr->ack_due'),
    ('write-needs-no-right', 'resp_exec.c', 'MEM_REMOTE_WRITE, r->va', '0, r->va'),
    ('write-checks-packet-only', 'resp_exec.c', 'r->va + r->done, rest,',
     'r->va + r->done, rest * 0 + job->pkt->payload_len,'),
    ('write-zero-length-rkey', 'resp_exec.c', '\tif (!r->len)\n\t\treturn FAULT_NONE;', ''),
    ('read-needs-no-right', 'resp_exec.c', 'MEM_REMOTE_READ,', '0,'),
    ('atomic-needs-no-right', 'resp_exec.c', 'MEM_REMOTE_ATOMIC,', '0,'),
    ('cas-always-swaps', 'resp_exec.c', 'uint64_t orig = job->pkt->atomic.compare;',
     'uint64_t orig = *word;'),
    ('read-again-any-range', 'resp_replay.c', 'pkt->reth.len != rd->len - skipped ||', ''),
    ('read-again-any-va', 'resp_replay.c', ' ||\n\t    pkt->reth.va != rd->va + skipped', ''),
    ('read-again-any-key', 'resp_replay.c', 'return !pkt->reth.len ||', 'return true ||'),
    ('read-again-from-start', 'resp_replay.c', 'again_from(r, rd, k);', 'again_from(r, rd, 0);'),
    ('ack-psn-ahead', 'resp_replay.c', 'send_ack(qp, x, r->ack_psn)',
     'send_ack(qp, x, psn_add(r->ack_psn, 1))'),
    ('nak-psn', 'resp_replay.c', 'send_aeth(qp, x, r->epsn, r->nak)',
     'send_aeth(qp, x, psn_sub(r->epsn, 1), r->nak)'),
    ('ack-before-read', 'resp_replay.c', '\tif (r->rd_pending)\n\t\treturn send_answer',
     '\tif (r->rd_pending && !r->ack_due)\n\t\treturn send_answer'),
    ('atomic-orig', 'resp_replay.c', 'wire_put_atomic_ack(f.at, rd->orig)',
     'wire_put_atomic_ack(f.at, rd->orig + 1)'),
    ('middle-has-aeth', 'resp_replay.c', 'if (bth.op != WIRE_READ_RESP_MIDDLE)', 'if (true)'),
    ('replay-kept-short', 'resp_replay.c', 'r->rd_count >= qp->attr.max_dest_rd_atomic &&', ''),
    ('invalidate-taken', 'resp_exec.c', 'if (job->pkt->info->ext & WIRE_EXT_IETH)', 'if (false)'),
    ('ieth-lost', 'req.c', 'wire_put_ieth(f->at, w->imm)', 'wire_put_ieth(f->at, 0)'),
    ('local-inv-sent', 'req_plan.c', 'if (!(qp->kind->wr_ops & 1u << w->opcode))', 'if (false)'),
    ('nak-inside-read', 'comp.c', '!settle(job, job->psn) && !in_oldest(job)', '!settle(job, job->psn)'),
    ('retry-for-ever', 'retry.c', '\t\tqp->retry.left--;\n', ''),
    ('rnr-for-ever', 'retry.c', '\t\tqp->retry.rnr_left--;\n', ''),
    ('rnr-7-counts', 'retry.c', '#define RNR_FOR_EVER 7', '#define RNR_FOR_EVER 8'),
    ('timer-early', 'retry.c', '+ ack_timeout_ns(timeout_of(qp))', '+ ack_timeout_ns(qp->attr.timeout) / 2'),
    ('timer-late', 'retry.c', '+ ack_timeout_ns(timeout_of(qp))', '+ 5 * ack_timeout_ns(qp->attr.timeout)'),
    ('rnr-early', 'retry.c', 'x->now + rnr_timer_ns[code & AETH_VALUE_MASK]',
     'x->now + rnr_timer_ns[code & AETH_VALUE_MASK] - 1'),
    ('rnr-timer-runs', 'retry.c', ' || qp->retry.rnr_at != QP_NEVER)\n\t\treturn false;',
     ')\n\t\treturn false;'),
    ('nak-storm', 'retry.c', '\tqp->retry.went_back = true;\n', ''),
    ('nak-free', 'retry.c', 'if (!moved && !use_retry(qp, x))', 'if (false)'),
    ('progress-restores-nothing', 'retry.c', 'retry_progress(struct qp *qp)\n{\n\tretry_init(qp);',
     'retry_progress(struct qp *qp)\n{\n\tqp->retry.ack_at = QP_NEVER;\n\tqp->retry.went_back = false;'),
    ('timer-not-restarted', 'retry.c', 'retry_progress(struct qp *qp)\n{\n\tretry_init(qp);',
     'retry_progress(struct qp *qp)\n{\n\tuint64_t at = qp->retry.ack_at;\n\n\tretry_init(qp);\n\tqp->retry.ack_at = at;'),
    ('no-implied-nak', 'comp.c', '\t\tif (req_is_rd(wr))\n\t\t\treturn false;\n', ''),
    ('ack-one-too-many', 'comp.c', 'settle(job, psn_add(job->psn, 1))', 'settle(job, psn_add(job->psn, 2))'),
    ('stale-taken', 'comp.c', 'if (psn_dist(req->una, job->psn) < psn_dist(req->una, req->max))', 'if (true)'),
    ('response-length', 'comp.c', ' || job->pkt->payload_len != want', ''),
    ('response-last', 'comp.c', 'is_last != (left == 1) || ', ''),
    ('response-first', 'comp.c', 'if (is_first ? !begins && !psn_eq(req->una, req->reread) : begins)',
     'if (false)'),
    ('response-kind', 'comp.c', 'if (atomic ? !op->atomic : !op->read)', 'if (false)'),
    ('response-place', 'comp.c', 'psn_dist(oldest(job)->first, job->psn) * qp->mtu',
     'psn_dist(oldest(job)->first, job->psn) * 1024'),
    ('nak-code-4', 'comp.c', 'if (code >= sizeof(nak_faults))', 'if (code > 31)'),
    ('read-needs-no-local-write', 'req_plan.c', '.wc = WC_RDMA_READ, .need = MEM_LOCAL_WRITE', '.wc = WC_RDMA_READ'),
    ('fence-ignored', 'req.c', '(job->wr->flags & PLX_WQE_FENCE)', 'false'),
    ('rd-depth-ignored', 'req.c', 'req_is_rd(job->wr) && job->qp->req.rd_out >=', 'false && job->qp->req.rd_out >='),
    ('window-ignored', 'req.c', 'if (out && out + job->npsn >', 'if (false && out + job->npsn >'),
    ('read-resumed-va', 'req.c', 'w->remote_addr + at, w->rkey', 'w->remote_addr, w->rkey'),
    ('se-everywhere', 'req.c', '.se = last && job->op->se &&', '.se = job->op->se &&'),
    ('sqd-starts-more', 'req.c', 'if (qp->state == QPS_SQD &&\n', 'if (false &&\n'),
    ('drained-early', 'req.c', 'if (req->head != req->planned && !psn_eq(req_wr_at(qp, req->head)->first, req->max))',
     'if (false)'),
    ('fails-before-its-turn', 'req.c', 'if (qp->req.head != qp->req.cur)', 'if (false)'),
    ('resends-what-is-acked', 'req.c', 'if (psn_dist(req->una, to) > psn_dist(req->una, req->next)) {', 'if (false) {'),
    ('psn-not-wrapped', 'qp_priv.h', 'return (to.v - from.v) & PSN_MASK;', 'return to.v - from.v;'),
    ('pkey-not-checked', 'demux.c', 'if (!pkey_ok(pkt->pkey, PKEY_DEFAULT))', 'if (false)'),
    ('source-not-checked', 'kind.c', 'memcmp(pkt->src_gid, qp->attr.path.dst_gid, 16) ||', ''),
    ('class-not-checked', 'demux.c', 'if (wire_opcode_class(pkt->opcode) != qp->kind->class)', 'if (false)'),
    ('unsignalled-success', 'status.c', 'if (f == FAULT_NONE && !(wr->flags & PLX_WQE_SIGNALED))', 'if (false)'),
    ('unsignalled-failure-lost', 'status.c', 'if (f == FAULT_NONE && !(wr->flags & PLX_WQE_SIGNALED))',
     'if (!(wr->flags & PLX_WQE_SIGNALED))'),
    ('error-not-solicited', 'status.c', '\t\tcqe->solicited = 1;', '\t\t;'),
    ('flush-forgets-receives', 'status.c', '\tstatus_flush_sends(qp, x);\n\tstatus_flush_recvs(qp, x);',
     '\tstatus_flush_sends(qp, x);'),
    ('no-fatal-event', 'qp.c', 'xport_event(x, EV_QP_FATAL, qp, NULL);', ''),
    ('err-answers', 'qp_priv.h', 'return qp->state >= QPS_RTR && qp->state <= QPS_SQE;',
     'return qp->state >= QPS_RTR;'),
    ('uc-gap-ignored', 'resp_uc.c', '\tr->msg = MSG_NONE;\n\treturn UC_END_GAP;', '\treturn UC_SEQUENCE;'),
    ('uc-no-restart', 'resp_uc.c', '\t\tr->epsn = job->pkt->psn;\n', ''),
    ('uc-fault-goes-on', 'resp_uc.c', '\tqp->resp.msg = MSG_NONE;\n\tif (losses', '\tif (losses'),
    ('uc-keys-free', 'resp_uc.c', '++r->bad_keys < MAX_BAD_KEYS', 'true || ++r->bad_keys < MAX_BAD_KEYS'),
    ('uc-keys-reset-by-nothing', 'resp_uc.c', 'resp_has(job, WIRE_WRITE) && r->len', 'resp_has(job, WIRE_WRITE)'),
    ('uc-write-completes', 'resp_uc.c', 'if (last && (resp_has(job, WIRE_SEND) || resp_has(job, WIRE_TAKES_WQE)))',
     'if (last && qp_receives(job->qp) && r->wqe_used)'),
    ('uc-asks-for-acks', 'req.c', 'qp->kind->acked &\n', '1 &\n'),
    ('uc-error-ends', 'status.c', 'qp->kind->ends ? QPS_ERR : QPS_SQE', 'QPS_ERR'),
    ('uc-sqe-no-flush', 'qp.c', 'status_flush_sends(qp, x);', ';'),
    ('uc-waits-for-ever', 'kind.c', '.patience = 18,', '.patience = 0,'),
    ('timeout-32', 'qp_modify.c', 'a->timeout <= 31', 'a->timeout <= 32'),
    ('psn-not-masked', 'qp_modify.c', 'from->sq_psn & PSN_MASK', 'from->sq_psn'),
)


def flags(tmp):
    return ['-std=gnu11', '-D_GNU_SOURCE', '-O1', '-w', '-I' + tmp, '-I' + os.path.join(ROOT, 'lib'),
            '-I' + os.path.join(ROOT, 'include')]


def compile_all(tmp, sources, out):
    objects = []
    for src in sources:
        obj = os.path.join(out, os.path.basename(src)[:-2] + '.o')
        subprocess.run(['cc', *flags(tmp), '-c', src, '-o', obj], check=True)
        objects.append(obj)
    return objects


class Bench:
    """The runner's objects, and a copy of lib/transport to be wrong in."""

    def __init__(self, tmp, build):
        self.tmp = tmp
        self.copy = os.path.join(tmp, 'transport')
        self.objects = os.path.join(tmp, 'objects')
        self.fixed = os.path.join(tmp, 'fixed')
        for d in (self.objects, self.fixed):
            os.mkdir(d)
        shutil.copytree(os.path.join(ROOT, 'lib', 'transport'), self.copy)
        here = os.path.join(ROOT, 'test', 'script')
        sources = [s for s in glob.glob(here + '/*.c') if not s.endswith('selftest.c')]
        self.runner = compile_all(tmp, sources, self.fixed)
        self.libs = [os.path.join(build, 'lib', 'libroom_%s.a' % r)
                     for r in ('queue', 'mem', 'wire', 'telemetry', 'base')]
        compile_all(tmp, glob.glob(self.copy + '/*.c'), self.objects)

    def build(self, changed):
        """Compiles what changed, everything after a header."""
        sources = glob.glob(self.copy + '/*.c') if changed.endswith('.h') else [
            os.path.join(self.copy, changed)]
        try:
            compile_all(self.tmp, sources, self.objects)
        except subprocess.CalledProcessError:
            return False
        out = os.path.join(self.tmp, 'runner')
        subprocess.run(['cc', *self.runner, *glob.glob(self.objects + '/*.o'), *self.libs, '-lisal',
                        '-lpthread', '-o', out], check=True)
        return True

    def run(self):
        """Names of the scripts that fail; what crashes or hangs has failed."""
        try:
            r = subprocess.run([os.path.join(self.tmp, 'runner'), 'rc', 'uc'], capture_output=True, text=True,
                               timeout=60, cwd=os.path.join(ROOT, 'test', 'script'))
        except subprocess.TimeoutExpired:
            return ['(never ends)']
        failed = [line.split()[1].rstrip(':') for line in r.stdout.splitlines()
                  if line.startswith('FAIL ')]
        if r.returncode < 0:
            failed.append('(signal %d)' % -r.returncode)
        return failed


def mutate(bench, name, file, text, replacement):
    """True: killed."""
    path = os.path.join(bench.copy, file)
    with open(path) as f:
        whole = f.read()
    if whole.count(text) != 1:
        print('STALE %s: its text stands %d times in %s' % (name, whole.count(text), file))
        return False
    with open(path, 'w') as f:
        f.write(whole.replace(text, replacement))
    built = bench.build(file)
    failed = bench.run() if built else []
    with open(path, 'w') as f:
        f.write(whole)
    bench.build(file)
    if not built:
        print('STALE %s: does not compile' % name)
    elif failed:
        print('killed %s by %d: %s' % (name, len(failed), ' '.join(failed[:3])))
    else:
        print('ALIVE  %s' % name)
    sys.stdout.flush()
    return bool(failed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--long', action='store_true')
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('names', nargs='*')
    args = parser.parse_args()
    chosen = [m for m in MUTATIONS if not args.names or m[0] in args.names]
    if not args.long and os.environ.get('TEST_MATRIX') != 'long':
        print('%d mutations; they run with --long' % len(chosen))
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        bench = Bench(tmp, args.build)
        bench.build('qp.c')
        if bench.run():
            print('the scripts fail without any mutation: %s' % ' '.join(bench.run()))
            return 1
        killed = sum(mutate(bench, *m) for m in chosen)
    print('killed %d / %d' % (killed, len(chosen)))
    return 0 if killed == len(chosen) else 1


if __name__ == '__main__':
    sys.exit(main())
