/* SPDX-License-Identifier: MIT */
/* Which names of environment variables look like secrets. */
#include "policy/fields.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/*
 * A name is cut into words at '_'. Words are compared so that GIT_AUTHOR_NAME does not match AUTH
 * and TOKENIZERS_PARALLELISM does not match TOKEN. Too wide a table costs a line with a reason in
 * the policy; too narrow a one costs the secret.
 */
enum match { ANYWHERE, WORD_END, PREFIX, WHOLE };

static const struct secret {
    const char *text;
    enum match match;
} secrets[] = {
    { "SECRET", ANYWHERE },
    { "PASSWORD", ANYWHERE },
    { "PASSWD", ANYWHERE },
    { "PASSPHRASE", ANYWHERE },
    { "APIKEY", ANYWHERE },
    { "API_KEY", ANYWHERE },
    { "CREDENTIAL", ANYWHERE },
    { "PRIVATE_KEY", ANYWHERE },
    { "ACCESS_KEY", ANYWHERE },
    { "SIGNING_KEY", ANYWHERE },
    { "ENCRYPTION_KEY", ANYWHERE },
    { "CONNECTION_STRING", ANYWHERE },
    { "TOKEN", WORD_END },
    { "TOKENS", WORD_END },
    { "AUTH", WORD_END }, /* SSH_AUTH_SOCK, NPM_CONFIG__AUTH */
    { "PASS", WORD_END }, /* DB_PASS, SSHPASS */
    { "COOKIE", WORD_END },
    { "JWT", WORD_END },
    { "DSN", WORD_END }, /* holds a password more often than not */
    { "AWS_", PREFIX },
    { "AZURE_", PREFIX },
    { "ARM_CLIENT_", PREFIX },
    { "GH_", PREFIX },
    { "GITHUB_", PREFIX },
    { "GITLAB_", PREFIX },
    { "CI_JOB_", PREFIX },
    { "ACTIONS_", PREFIX },
    { "OPENAI_", PREFIX },
    { "ANTHROPIC_", PREFIX },
    { "VAULT_", PREFIX },
    { "TF_VAR_", PREFIX },
    { "CARGO_REGISTRIES_", PREFIX },
    { "DATABASE_URL", WHOLE },
    { "REDIS_URL", WHOLE },
    { "KUBECONFIG", WHOLE },
    { "NETRC", WHOLE },
};

static bool at_word_end(const char *name, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = name; *p; p++)
        if (strncasecmp(p, text, n) == 0 && (p[n] == '\0' || p[n] == '_'))
            return true;
    return false;
}

static bool matches(const struct secret *s, const char *name)
{
    switch (s->match) {
    case ANYWHERE:
        return strcasestr(name, s->text) != NULL;
    case WORD_END:
        return at_word_end(name, s->text);
    case PREFIX:
        return strncasecmp(name, s->text, strlen(s->text)) == 0;
    case WHOLE:
        return strcasecmp(name, s->text) == 0;
    }
    return true;
}

bool sr_policy_secret_name(const char *name)
{
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (matches(&secrets[i], name))
            return true;
    return false;
}
