/* SPDX-License-Identifier: MIT */
/* The namespaces made ready: private propagation, the loopback up, a neutral host name. */
#include "engine/native/native.h"

#include "base/mem.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static int loopback_up(struct sr_error *err)
{
    /* the kernel gives lo 127.0.0.1 and ::1 by itself once it is up */
    struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0) {
        sr_error_sys(err, "engine.unavailable.loopback", "cannot bring the loopback up");
        return sr_error_hint(err, "where AppArmor restricts user namespaces, install sandrun's profile or set "
                                  "kernel.apparmor_restrict_unprivileged_userns=0");
    }
    return 0;
}

int step_namespace(struct native *n, struct sr_error *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return sr_error_sys(err, "engine.unavailable.mount_namespace", "cannot make the mounts private");
    if (sethostname(SR_INSIDE_HOSTNAME, strlen(SR_INSIDE_HOSTNAME)) < 0)
        return sr_error_sys(err, "engine.unavailable.uts_namespace", "cannot set the host name");
    return n->plan->network == SR_NETWORK_HOST ? 0 : loopback_up(err);
}
