/* SPDX-License-Identifier: MIT */
/* Who a check is: never host uid 0, no capability, and the owner of the tree as seen from inside. */
#include "engine/native/native.h"

#include "base/mem.h"

#include <errno.h>
#include <grp.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

static bool has_sys_admin(void)
{
    cap_t caps = cap_get_proc();
    cap_flag_value_t value = CAP_CLEAR;
    if (caps)
        cap_get_flag(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE, &value);
    cap_free(caps);
    return value == CAP_SET;
}

static void shifted_map(unsigned extra, char text[96])
{
    int len = snprintf(text, 96, "0 %u %u\n", (unsigned)SR_ID_BASE, (unsigned)SR_ID_COUNT);
    if (extra >= SR_ID_COUNT) /* an owner beyond the range gets a line of its own behind it */
        snprintf(text + len, 96 - (size_t)len, "%u %u 1\n", extra, (unsigned)SR_ID_BASE + SR_ID_COUNT);
}

static int find_privileged(const struct sr_plan *plan, struct native_identity *id, struct sr_error *err)
{
    id->uid = plan->tree_uid;
    id->gid = plan->tree_gid;
    id->host_uid = SR_ID_BASE + (id->uid < SR_ID_COUNT ? id->uid : SR_ID_COUNT);
    id->host_gid = SR_ID_BASE + (id->gid < SR_ID_COUNT ? id->gid : SR_ID_COUNT);
    char uids[96], gids[96];
    static const char nobody[] = "4294967293 1879179265 1\n"; /* an id that no file has, to one behind ours */
    shifted_map(id->uid, uids);
    shifted_map(id->gid, gids);
    if (native_userns_make(uids, gids, &id->userns_fd, err) < 0)
        return -1;
    return native_userns_make(nobody, nobody, &id->nobody_fd, err);
}

int native_identity_find(const struct sr_plan *plan, struct native_identity *ret, struct sr_error *err)
{
    struct native_identity id = { .privileged = has_sys_admin(), .userns_fd = -1, .nobody_fd = -1 };
    if (id.privileged) {
        if (find_privileged(plan, &id, err) < 0)
            return -1;
    } else if (geteuid() == 0) {
        /* root without CAP_SYS_ADMIN (a container's root): the one map it may write makes the check host uid 0 */
        sr_error_set(err, "engine.unavailable.identity",
                     "the caller is root without CAP_SYS_ADMIN, so a check could only run as the host's uid 0");
        return sr_error_hint(err, "run sandrun as an ordinary user, or give the container CAP_SYS_ADMIN");
    } else {
        id.uid = id.host_uid = geteuid();
        id.gid = id.host_gid = getegid();
    }
    *ret = id;
    return 0;
}

static int drop_capabilities(struct sr_error *err)
{
    /* securebits first: without them a later uid 0 would get capabilities back at exec (capabilities(7)) */
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                               SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.capabilities", "cannot lock the securebits");
    if (cap_reset_ambient() < 0)
        return sr_error_sys(err, "engine.unavailable.capabilities", "cannot clear the ambient capabilities");
    for (cap_value_t c = 0; cap_get_bound(c) >= 0; c++)
        if (cap_drop_bound(c) < 0)
            return sr_error_sys(err, "engine.unavailable.capabilities", "cannot drop capability %d from the bounding set", c);
    cap_t none = cap_init();
    int set = none ? cap_set_proc(none) : -1;
    cap_free(none);
    if (set < 0)
        return sr_error_sys(err, "engine.unavailable.capabilities", "cannot drop the capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.no_new_privs", "cannot set no_new_privs");
    return 0;
}

int native_identity_enter(const struct native_identity *id, struct sr_error *err)
{
    if (id->privileged) {
        /* the groups of the caller go while it is still allowed; then the namespace, then the ids inside it */
        if (setgroups(0, NULL) < 0 || setns(id->userns_fd, CLONE_NEWUSER) < 0)
            return sr_error_sys(err, "engine.unavailable.user_namespace", "cannot enter the check's user namespace");
        /* uid 0 keeps its capabilities through setresuid to another uid only with this (prctl(2)); the drop follows */
        if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(id->gid, id->gid, id->gid) < 0 ||
            setresuid(id->uid, id->uid, id->uid) < 0)
            return sr_error_sys(err, "engine.unavailable.identity", "cannot become uid %u inside", id->uid);
        cap_t caps = cap_get_proc();
        const cap_value_t needed[] = { CAP_SETPCAP };
        int raised = caps && cap_set_flag(caps, CAP_EFFECTIVE, 1, needed, CAP_SET) == 0 ? cap_set_proc(caps) : -1;
        cap_free(caps);
        if (raised < 0)
            return sr_error_sys(err, "engine.unavailable.capabilities", "cannot raise CAP_SETPCAP for the drop");
    }
    return drop_capabilities(err);
}
